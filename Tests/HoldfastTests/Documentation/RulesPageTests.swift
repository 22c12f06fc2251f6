import Holdfast
import HoldfastTesting
import Testing

/// The page "Rules".
@Suite(.timeLimit(.minutes(20))) struct RulesPageTests {
    struct GetCatalogue: Endpoint {
        let path = "/catalogue"
        var rule: RuleSettings {
            RuleSettings {
                $0.freshness.default = .minutes(5)
                $0.stale.onError = .limited(.hours(12))
            }
        }
    }

    private struct Contradicting: Endpoint {
        let path = "/catalogue"
        var rule: RuleSettings { RuleSettings { $0.tags = [] } }
    }

    private static func configuration() throws -> CachingClient.Configuration {
        var configuration = CachingClient.Configuration(environment: .production)
        configuration.rules = try RuleSet([
            Rule("feed", matching: .init(urls: ["https://api.example.com/moments/**"])) {
                $0.freshness.lifetime = .minutes(5)
                $0.tags = ["feed"]
            },
            Rule("images", matching: .init(contentTypes: ["image/*"])) {
                $0.store.largest = 4 << 20
            },
            Rule("everything") {
                $0.stale.onError = .limited(.days(1))
                $0.normalize.droppedParameters = ["tracking"]
            },
        ])
        return configuration
    }

    @Test func ruleOfTheEndpointDecides() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            test.transport.script(
                "https://api.example.com/catalogue",
                .ok("1"),
                .status(.serviceUnavailable),
                .status(.serviceUnavailable)
            )
            _ = try await test.client.fetch(GetCatalogue())
            test.clock.advance(by: .minutes(4))
            let fresh = try await test.client.fetch(GetCatalogue())
            #expect(fresh.source == .store && !fresh.isStale)
            test.clock.advance(by: .hours(2))
            let stale = try await test.client.fetch(GetCatalogue())
            #expect(stale.isStale && stale.outcome.detail == .staleIfError)
            test.clock.advance(by: .hours(12))
            await expect(.status) { _ = try await test.client.fetch(GetCatalogue()) }
        }
    }

    @Test func contradictingRuleIsAnError() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            await expect(.invalidRule) { _ = try await test.client.fetch(Contradicting()) }
        }
    }

    @Test func rulesOfTheClientDecideEachSetting() async throws {
        try await withTestClient(Self.configuration()) { test in
            let client = test.client
            test.transport.script("https://api.example.com/moments/1", .ok("a"), .status(.badGateway))
            let moment = AdHocRequest<String>("/moments/1", query: ["utm_source": "mail"])
            _ = try await client.fetch(moment)
            test.clock.advance(by: .minutes(4))
            #expect(try await client.fetch(moment).source == .store)
            test.clock.advance(by: .hours(3))
            let stale = try await client.fetch(moment)
            #expect(stale.value == "a" && stale.outcome.detail == .staleIfError)
            try await client.store.removeResponses(tagged: "feed")
            #expect(try await client.stored(moment) == nil)
        }
    }

    @Test func ruleThatDecidesNothingIsRejected() {
        #expect(throws: ConfigurationError.self) { try RuleSet([Rule("nothing") { _ in }]) }
    }
}
