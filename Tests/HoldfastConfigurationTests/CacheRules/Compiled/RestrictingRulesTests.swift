import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

/// Rules with conditions on cookies, fields or query parameters.
@Suite(.timeLimit(.minutes(20))) struct RestrictingRulesTests {
    private func asked(_ url: String, _ fields: HTTPFields = [:]) -> HTTPRequest {
        var head = request(url)
        head.headerFields = fields
        return head
    }

    private static let file = """
          - {name: pages, match: {url: "/**"}, freshness: {default: 5 m}, mode: preferStored}
          - {name: editors, match: {cookie: ["wordpress_logged_in_*"]}, bypass: true}
          - {name: previews, match: {query: {preview: ["true"]}, url: "/blog/**"}, bypass: true, mode: automatic}
          - {name: probes, match: {field: {X-Probe: ["1"]}}, mode: offline}
        """

    @Test func restrictingRulesApplyAfterTheOthers() throws {
        let rules = try rules(Self.file)
        let plain = rules.rules(for: asked("https://a.example/blog/1"))
        #expect(plain.restrictions.count == 3 && !plain.settings.isBypassed && plain.settings.mode == .preferStored)
        #expect(rules.rules(for: asked("https://a.example/x")).restrictions.count == 2, "one is for another URL")
        let preview = plain.restricted(for: asked("https://a.example/blog/1?preview=true"))
        #expect(preview.settings.isBypassed && preview.settings.mode == .preferStored, "a mode cannot be relaxed")
        #expect(preview.settings.overrides.defaultLifetime == 300)
        let editor = plain.restricted(for: asked("https://a.example/blog/1", [.cookie: "wordpress_logged_in_1=a"]))
        #expect(editor.settings.isBypassed)
    }

    @Test func targetsAreRememberedWithoutWhatRequestsHold() throws {
        let rules = try rules(Self.file)
        let editor = asked("https://a.example/x", [.cookie: "wordpress_logged_in_1=a"])
        for _ in 0..<2 {
            #expect(rules.rules(for: editor).restricted(for: editor).settings.isBypassed)
            let visitor = asked("https://a.example/x")
            #expect(!rules.rules(for: visitor).restricted(for: visitor).settings.isBypassed)
        }
    }

    @Test func decisionsNameTheRuleThatRestricts() throws {
        let rules = try rules(Self.file)
        let decisions = { (request: HTTPRequest) in
            rules.decisions(for: request, contentType: nil).map { "\($0.setting)=\($0.value) by \($0.rule)" }
        }
        #expect(
            decisions(asked("https://a.example/blog/1?preview=true")) == [
                "freshness.default=5 m by pages", "mode=preferStored by pages", "bypass=true by previews",
            ]
        )
        let probe: HTTPFields = [try #require(HTTPField.Name("X-Probe")): "1"]
        #expect(
            decisions(asked("https://a.example/x", probe)) == [
                "freshness.default=5 m by pages", "mode=offline by probes",
            ]
        )
    }

    @Test func usesAreCountedForRequestsThatMeetTheConditions() throws {
        let rules = try rules(Self.file)
        let visitor = asked("https://a.example/x")
        let editor = asked("https://a.example/x", [.cookie: "wordpress_logged_in_1=a"])
        rules.rules(for: visitor).restricted(for: visitor).countUses(4)
        #expect(rules.uses == [4, 0, 0, 0])
        rules.rules(for: editor).restricted(for: editor).countUses(3)
        #expect(rules.uses == [7, 3, 0, 0])
    }

    @Test func restrictingRuleIsNeverDeadAndMakesNoneDead() throws {
        _ = try rules(
            """
              - {name: all, bypass: false, mode: online}
              - {name: some, match: {cookie: [a]}, bypass: true, mode: offline}
            """
        )
        _ = try rules(
            """
              - {name: some, match: {cookie: [a]}, bypass: true}
              - {name: all, bypass: true}
            """
        )
    }

    @Test func conditionsAreShownAsWritten() throws {
        let configuration = try Configuration(yaml: "version: 1\nrules:\n\(Self.file)")
        let shown = configuration.effective.rules.flatMap { $0.conditions.map { "\($0.name): \($0.value ?? "")" } }
        #expect(
            shown == [
                "match.url: [/**]", "match.cookie: [wordpress_logged_in_*]", "match.url: [/blog/**]",
                "match.query: {preview: [true]}", "match.field: {X-Probe: [1]}",
            ]
        )
    }
}
