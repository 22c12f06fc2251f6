import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// Conditions on cookies, fields and query parameters only restrict.
@Suite(.timeLimit(.minutes(20))) struct RequestRestrictionTests {
    private let url = EngineFixture.url
    private static let preview = RequestRestriction.Conditions(cookies: ["preview": [], "edit_*": ["1"]])

    private func rules(_ restrictions: [RequestRestriction], _ change: (inout ExchangeSettings) -> Void = { _ in })
        -> RequestRules
    {
        var settings = ExchangeSettings()
        change(&settings)
        return RequestRules(settings: settings, restrictions: restrictions)
    }

    @Test(arguments: [
        ("preview=1", true), ("preview=", true), ("a=1; edit_x=1", true), ("edit_x=2", false), ("Preview=1", false),
        ("a=preview", false), ("a=1", false), ("a=\"; preview=1\"", true), ("a.b=1", true), ("a=1;b=2", true),
    ])
    func cookieConditions(_ cookie: String, _ holds: Bool) throws {
        let request = try EngineFixture().request(url, [.cookie: cookie]).head
        #expect(Self.preview.hold(for: request) == holds)
    }

    @Test func requestWithoutCookiesMeetsNoCookieCondition() throws {
        #expect(!Self.preview.hold(for: try EngineFixture().request(url).head))
    }

    @Test(arguments: [
        ("?preview=1", true), ("?x=1&preview=true", true), ("?pre%76iew=1", true), ("?preview=2", false),
        ("?preview", false), ("?draft", true), ("?draft=9", true), ("?Preview=1", false), ("", false),
        ("?x=preview", false),
        ("?preview=2&preview=1", true), ("?preview=%31", true),
    ])
    func queryConditions(_ query: String, _ holds: Bool) throws {
        let conditions = RequestRestriction.Conditions(query: ["preview": ["1", "true"], "draft": []])
        #expect(conditions.hold(for: try EngineFixture().request(url + query).head) == holds)
    }

    @Test func fieldConditions() throws {
        let conditions = RequestRestriction.Conditions(fields: [.userAgent: ["a", "b"], .from: []])
        let holds = { (fields: HTTPFields) in
            conditions.hold(for: try EngineFixture().request(EngineFixture.url, fields).head)
        }
        #expect(try holds([.userAgent: "a"]) && holds([.from: "x"]) && holds([.from: ""]))
        #expect(try !holds([:]) && !holds([.userAgent: "A"]) && !holds([.userAgent: "a, b"]))
    }

    @Test func allKindsMustHold() throws {
        let conditions = RequestRestriction.Conditions(cookies: ["a": []], query: ["b": []])
        #expect(conditions.hold(for: try EngineFixture().request(url + "?b", [.cookie: "a=1"]).head))
        #expect(!conditions.hold(for: try EngineFixture().request(url + "?b").head))
        #expect(!conditions.hold(for: try EngineFixture().request(url, [.cookie: "a=1"]).head))
    }

    @Test func restrictedRequestBypassesTheStore() async throws {
        let rules = rules([RequestRestriction(Self.preview, isBypassed: true)]) {
            $0.cookies = CookieRule(kept: CookieNames(["preview"]))
        }
        let fixture = EngineFixture(kind: .shared, rules: TestRules { _ in rules })
        fixture.transport.script(url, .fresh("one"), .fresh("preview"))
        try await fixture.get(url, [.cookie: "_ga=1"])
        let preview = try await fixture.get(url, [.cookie: "preview=1"])
        #expect(preview.text == "preview" && preview.response.outcome.forward == .bypass)
        let next = try await fixture.get()
        #expect(next.text == "one" && next.response.outcome.isHit)
    }

    @Test func strictestModeApplies() throws {
        let any = RequestRestriction.Conditions(query: ["q": []])
        for (mode, own, expected) in [
            (OfflineMode.preferStored, nil, OfflineMode.preferStored), (.offline, .preferStored, .offline),
            (.online, .preferStored, .preferStored), (.preferStored, .offline, .offline),
        ] as [(OfflineMode, OfflineMode?, OfflineMode)] {
            let rules = rules([RequestRestriction(any, mode: mode)]) { $0.mode = own }
            let request = try EngineFixture().request(url + "?q").head
            #expect(rules.restricted(for: request).settings.mode == expected)
            #expect(rules.restricted(for: try EngineFixture().request(url).head).settings.mode == own)
        }
    }

    /// Requests share a fetch only if their rules are the same instance.
    @Test func sameConditionsGiveTheSameRules() throws {
        let rules = rules([
            RequestRestriction(.init(query: ["a": []]), isBypassed: true),
            RequestRestriction(.init(query: ["b": []]), mode: .offline),
        ])
        let restricted = { (query: String) in
            rules.restricted(for: try EngineFixture().request(EngineFixture.url + query).head)
        }
        #expect(try restricted("") === rules)
        #expect(try restricted("?a=1") === restricted("?a=2"))
        #expect(try restricted("?a") !== restricted("?b") && restricted("?a&b") !== restricted("?a"))
        #expect(try restricted("?b&a").settings.isBypassed && restricted("?a&b").settings.mode == .offline)
    }

    @Test func usesCountOnlyRequestsThatMeetTheConditions() throws {
        let rules = rules([RequestRestriction(.init(query: ["a": []]), isBypassed: true)])
        rules.countUses(5)
        #expect(rules.restrictionUses == [0] && rules.uses == 5)
        rules.restricted(for: try EngineFixture().request(url + "?a").head).countUses(3)
        #expect(rules.restrictionUses == [3] && rules.uses == 8)
    }

    @Test func restrictionOfAResponseTypeApplies() throws {
        let rules = RequestRules(restrictions: [RequestRestriction(.init(query: ["a": []]), isBypassed: true)]) { _ in
            var settings = ExchangeSettings()
            settings.overrides.lifetime = 5
            return settings
        }
        let restricted = rules.restricted(for: try EngineFixture().request(url + "?a").head)
        let settings = restricted.settings(forContentType: "text/html")
        #expect(settings.isBypassed && settings.overrides.lifetime == 5)
    }
}
