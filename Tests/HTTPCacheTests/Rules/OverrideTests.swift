import HTTPCache
import HTTPCacheExplaining
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

/// A request's own settings in place of the rules.
@Suite(.timeLimit(.minutes(20))) struct OverrideTests {
    private static let url = EngineFixture.url

    /// Some settings, identified by their names.
    private struct Own: SettingsOverriding {
        var lifetime: Int64?
        var mode: OfflineMode?
        var ignored: [String]?
        var softTimeout: Duration?
        var ignoredFields: Set<HTTPField.Name>?

        func apply(to settings: inout ExchangeSettings) {
            if let lifetime { settings.overrides.lifetime = lifetime }
            if let mode { settings.mode = mode }
            if let ignored { settings.target.ignoredParameters = ignored }
            if let softTimeout { settings.softTimeout = .value(softTimeout) }
            if let ignoredFields { settings.ignoredFields = ignoredFields }
        }

        var decisions: [RuleDecision] {
            lifetime.map { [RuleDecision(setting: "freshness.lifetime", value: "\($0)", rule: "endpoint")] } ?? []
        }
    }

    /// Rules with one setting, and its explanation.
    private struct ExplainedRules: ExchangeRules {
        let rules: RequestRules
        func rules(for request: HTTPRequest) -> RequestRules { rules }
        func decisions(for request: HTTPRequest, contentType: String?) -> [RuleDecision] {
            [
                RuleDecision(setting: "freshness.lifetime", value: "10", rule: "rule 1"),
                RuleDecision(setting: "tags", value: "a", rule: "rule 1"),
            ]
        }
    }

    private func request(
        _ fixture: EngineFixture,
        _ own: Own,
        _ url: String = url,
        _ fields: HTTPFields = [:],
        method: HTTPRequest.Method = .get,
        preference: CacheRequest.Preference = .standard
    ) throws -> CacheRequest {
        var request = try fixture.request(url, fields, method: method, preference: preference)
        request.overrides = own
        return request
    }

    private func text(_ fixture: EngineFixture, _ request: CacheRequest) async throws -> String {
        String(buffer: try await fixture.engine.respond(to: request).body.collect(upTo: 1 << 20))
    }

    @Test func overrideAppliesWithoutRules() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(Self.url, .fresh("old"), .fresh("new"))
        #expect(try await text(fixture, request(fixture, Own(lifetime: 600))) == "old")
        fixture.clock.advance(by: .seconds(599))
        #expect(try await text(fixture, request(fixture, Own(lifetime: 600))) == "old")
        // Other requests use what the response states.
        #expect(try await fixture.get().text == "new")
    }

    @Test func overrideBeatsRuleAndKeepsOtherSettings() async throws {
        let rules = TestRules {
            $0.overrides.lifetime = 10
            $0.target.ignoredParameters = ["page"]
        }
        let fixture = EngineFixture(rules: rules)
        fixture.transport.script(Self.url + "?page=1", .fresh("old"))
        #expect(try await text(fixture, request(fixture, Own(lifetime: 600), Self.url + "?page=1")) == "old")
        fixture.clock.advance(by: .seconds(500))
        #expect(try await text(fixture, request(fixture, Own(lifetime: 600), Self.url + "?page=2")) == "old")
    }

    @Test func overrideAppliesToRulesByContentType() async throws {
        let rules = TestRules { _ in RequestRules.with("text/plain") { $0.overrides.lifetime = 10 } }
        let fixture = EngineFixture(rules: rules)
        fixture.transport.script(
            Self.url,
            .ok("old", fields: [.contentType: "text/plain", .cacheControl: "max-age=1"])
        )
        #expect(try await text(fixture, request(fixture, Own(lifetime: 600))) == "old")
        fixture.clock.advance(by: .seconds(500))
        #expect(try await text(fixture, request(fixture, Own(lifetime: 600))) == "old")
    }

    @Test func overrideCanUseFieldThatRuleIgnores() async throws {
        let rules = TestRules { $0.ignoredFields = [.acceptLanguage] }
        let fixture = EngineFixture(rules: rules)
        let fields: HTTPFields = [.cacheControl: "max-age=60", .vary: "Accept-Language"]
        fixture.transport.script(Self.url, .ok("de", fields: fields), .ok("en", fields: fields))
        let own = Own(ignoredFields: [])
        #expect(try await text(fixture, request(fixture, own, Self.url, [.acceptLanguage: "de"])) == "de")
        #expect(try await text(fixture, request(fixture, own, Self.url, [.acceptLanguage: "en"])) == "en")
    }

    @Test(arguments: [OfflineMode.online, .preferStored])
    func overrideNarrowsModeAndNeverWidensIt(mode: OfflineMode) async throws {
        let fixture = EngineFixture(rules: TestRules { $0.mode = .offline })
        await #expect(throws: ExchangeError.self) { try await text(fixture, request(fixture, Own(mode: mode))) }
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test func equalOverridesShareFetch() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(Self.url, .fresh("one", beforeHead: gate))
        let responses = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<50 {
                group.addTask { try await self.text(fixture, self.request(fixture, Own(lifetime: 600))) }
            }
            await fixture.transport.waitForRequests(1)
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(responses.allSatisfy { $0 == "one" })
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func differentOverridesShareNoFetch() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(Self.url, .fresh("one", beforeHead: gate), .fresh("two", beforeHead: gate))
        async let first = text(fixture, request(fixture, Own(lifetime: 600)))
        await fixture.transport.waitForRequests(1)
        async let second = text(fixture, request(fixture, Own(lifetime: 500)))
        await fixture.transport.waitForRequests(2)
        gate.open()
        #expect(try await [first, second] == ["one", "two"])
    }

    @Test func equalOverrideInvalidatesChangedTarget() async throws {
        let fixture = EngineFixture()
        let own = Own(ignored: ["page"])
        let url = Self.url + "?page=1"
        fixture.transport.script(url, .fresh("old"), .status(.noContent), .fresh("new"))
        #expect(try await text(fixture, request(fixture, own, url)) == "old")
        _ = try await text(fixture, request(fixture, own, url, method: .post))
        #expect(try await text(fixture, request(fixture, own, url)) == "new")
    }

    @Test func explanationShowsOverrideInsteadOfRule() async throws {
        let fixture = EngineFixture(rules: ExplainedRules(rules: RequestRules.with { $0.overrides.lifetime = 10 }))
        let explanation = try await fixture.engine.explain(request(fixture, Own(lifetime: 600)))
        #expect(explanation.rules.map(\.setting) == ["freshness.lifetime", "tags"])
        #expect(explanation.rules.map(\.rule) == ["endpoint", "rule 1"])
    }

    @Test func ownSoftTimeoutAppliesToNetworkFirst() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(Self.url, .fresh("stored"), .fresh("slow", beforeHead: gate))
        _ = try await fixture.get()
        let own = Own(softTimeout: .seconds(2))
        async let reply = fixture.engine.respond(to: request(fixture, own, preference: .networkFirst))
        await fixture.transport.waitForRequests(2)
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .seconds(2))
        let response = try await reply
        #expect(String(buffer: try await response.body.collect(upTo: 100)) == "stored")
        #expect(response.outcome.detail == .slow)
        // The fetch continues, and renews the stored response.
        gate.open()
        try await fixture.untilStored("slow")
    }

    @Test func networkFirstWaitsIfNothingIsStored() async throws {
        let fixture = EngineFixture()
        let gate = Gate()
        fixture.transport.script(Self.url, .fresh("slow", beforeHead: gate))
        let own = Own(softTimeout: .seconds(2))
        async let response = text(fixture, request(fixture, own, preference: .networkFirst))
        await fixture.transport.waitForRequests(1)
        fixture.sleeper.advance(by: .seconds(10))
        gate.open()
        #expect(try await response == "slow")
    }

    @Test func fastOriginAnswersNetworkFirst() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(Self.url, .fresh("stored"), .fresh("fast"))
        _ = try await fixture.get()
        let own = Own(softTimeout: .seconds(2))
        #expect(try await text(fixture, request(fixture, own, preference: .networkFirst)) == "fast")
    }
}
