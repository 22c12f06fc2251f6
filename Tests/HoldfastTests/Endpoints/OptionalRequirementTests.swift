import Holdfast
import HoldfastTesting
import Testing

/// An endpoint's optional requirements, as plain types and as optionals.
@Suite(.timeLimit(.minutes(20))) struct OptionalRequirementTests {
    private static let url = "https://a.example/me"

    private struct Plain: Endpoint {
        typealias Response = String
        let baseURL = "https://a.example"
        let path = "/me"
        let principal: String
    }

    private struct Optionally: Endpoint {
        typealias Response = String
        let baseURL = "https://a.example"
        let path = "/me"
        let principal: String?
    }

    private enum Computed: Endpoint {
        typealias Response = String
        case user(String)
        var baseURL: String { "https://a.example" }
        var path: String { "/me" }
        var principal: String {
            switch self {
            case .user(let name): name
            }
        }
    }

    private struct Omitted: Endpoint {
        typealias Response = String
        let baseURL = "https://a.example"
        let path = "/me"
    }

    /// Returns what two users get from one client, the second while the network is down.
    private func read(_ ada: some Endpoint, _ bob: some Endpoint) async throws -> (String, HoldfastError.Code?) {
        try await withTestClient { test in
            test.transport.script(Self.url, .fresh("ada's"))
            let first = try await test.client.fetch(ada, as: String.self).value
            test.transport.isReachable = false
            let error = await failure {
                let stolen = try await test.client.fetch(bob, as: String.self).value
                Issue.record("bob reads \(stolen)")
            }
            return (first, error?.code)
        }
    }

    /// Before `OptionalConvertible`, bob read ada's response here, in the enum and when wrapped.
    @Test func principalOfAPlainTypeIsHonored() async throws {
        let (value, code) = try await read(Plain(principal: "ada"), Plain(principal: "bob"))
        #expect(value == "ada's" && code == .originUnreachable)
    }

    @Test func optionalPrincipalIsHonored() async throws {
        let (value, code) = try await read(Optionally(principal: "ada"), Optionally(principal: "bob"))
        #expect(value == "ada's" && code == .originUnreachable)
    }

    @Test func principalOfAnEnumIsHonored() async throws {
        let (value, code) = try await read(Computed.user("ada"), Computed.user("bob"))
        #expect(value == "ada's" && code == .originUnreachable)
    }

    @Test func principalOfAWrappedEndpointIsHonored() async throws {
        let (ada, bob) = (AnyEndpoint(Plain(principal: "ada")), AnyEndpoint(Plain(principal: "bob")))
        let (value, code) = try await read(ada, bob)
        #expect(value == "ada's" && code == .originUnreachable)
    }

    @Test func withoutAPrincipalTheClientsIsUsed() async throws {
        let defaults = RequestDefaults(principal: "cem")
        try await withTestClient(.init(defaults: defaults)) { test in
            let endpoints: [any Endpoint] = [
                Omitted(), Optionally(principal: nil), Optionally(principal: "ada"), Plain(principal: "ada"),
            ]
            let principals = try endpoints.map { try test.client.request(for: $0).principal }
            #expect(principals == ["cem", "cem", "ada", "ada"])
        }
    }

    private struct AllPlain: Endpoint {
        typealias Response = String
        let baseURL = "https://a.example"
        let path = "/me"
        let principal = "ada"
        let rule = RuleSettings { $0.freshness.lifetime = .minutes(5) }
        let offlineReads = OfflineReads.despiteDirectives
        let maximumBodyBytes = 7
        let timeout = Duration.seconds(3)
        let retry = RetryPlan(limit: 2, delay: .zero)
        let sampleResponse = SampleResponse(json: "{}")
    }

    private enum AllComputed: Endpoint {
        case plain
        var path: String { "/me" }
        var principal: String { "ada" }
        var rule: RuleSettings { RuleSettings { $0.freshness.lifetime = .minutes(5) } }
        var offlineReads: OfflineReads { .despiteDirectives }
        var maximumBodyBytes: Int { 7 }
        var timeout: Duration { .seconds(3) }
        var retry: RetryPlan { RetryPlan(limit: 2, delay: .zero) }
        var sampleResponse: SampleResponse { SampleResponse(json: "{}") }
    }

    private struct AllOptional: Endpoint {
        let path = "/me"
        var principal: String? = "ada"
        var rule: RuleSettings? = RuleSettings { $0.freshness.lifetime = .minutes(5) }
        var offlineReads: OfflineReads? = .despiteDirectives
        var maximumBodyBytes: Int? = 7
        var timeout: Duration? = .seconds(3)
        var retry: RetryPlan? = RetryPlan(limit: 2, delay: .zero)
        var sampleResponse: SampleResponse? = SampleResponse(json: "{}")
    }

    @Test(arguments: [AllPlain(), AllComputed.plain, AllOptional()] as [any Endpoint])
    func everyOptionalRequirementIsHonored(endpoint: any Endpoint) {
        for endpoint in [endpoint, AnyEndpoint(endpoint)] as [any Endpoint] {
            #expect(endpoint.principal.asOptional == "ada" && endpoint.offlineReads.asOptional == .despiteDirectives)
            #expect(endpoint.rule.asOptional?.freshness.lifetime == .minutes(5))
            #expect(endpoint.maximumBodyBytes.asOptional == 7 && endpoint.timeout.asOptional == .seconds(3))
            #expect(endpoint.retry.asOptional?.limit == 2)
            #expect(endpoint.sampleResponse.asOptional == SampleResponse(json: "{}"))
        }
    }

    @Test(arguments: [Omitted(), Optionally(principal: nil)] as [any Endpoint])
    func omittedRequirementsAreNil(endpoint: any Endpoint) {
        for endpoint in [endpoint, AnyEndpoint(endpoint)] as [any Endpoint] {
            #expect(endpoint.principal.asOptional == nil && endpoint.offlineReads.asOptional == nil)
            #expect(endpoint.rule.asOptional == nil && endpoint.maximumBodyBytes.asOptional == nil)
            #expect(endpoint.timeout.asOptional == nil && endpoint.retry.asOptional == nil)
            #expect(endpoint.sampleResponse.asOptional == nil)
        }
    }

    @Test func settingsOfPlainTypesApplyToACall() async throws {
        try await withTestClient { test in
            test.transport.script(
                Self.url,
                .status(.serviceUnavailable),
                .status(.serviceUnavailable),
                .ok("{\"a\": 1}")
            )
            let error = await failure { _ = try await test.client.fetch(AllPlain()) }
            #expect(error?.code == .bodyTooLarge && test.transport.requests.count == 3)
        }
        try await withTestClient { test in
            try test.transport.script(samplesOf: AllPlain())
            let sample = try await test.client.fetch(AllPlain()).value
            #expect(sample == "{}")
        }
    }
}
