import Foundation
import Holdfast
import HoldfastTesting
import Testing

/// The base of an application's endpoints: everything of one API is the current user's.
private protocol AccountEndpoint: Endpoint { var user: String { get } }

extension AccountEndpoint {
    fileprivate var principal: String { user }
    fileprivate var tags: [String] { ["user-\(user)"] }
}

/// Settings of endpoints in the forms in which applications write them, seen in what a call does.
@Suite(.timeLimit(.minutes(20))) struct EndpointScenarioTests {
    private struct Inbox: AccountEndpoint {
        typealias Response = String
        let user: String
        let path = "/inbox"
    }

    /// Keeps everything offline, whatever the wrapped endpoint says.
    private struct KeptOffline<Base: Endpoint>: Endpoint {
        typealias Response = Base.Response
        let base: Base
        var baseURL: String { base.baseURL }
        var path: Base.EndpointPath { base.path }
        var headers: Base.EndpointHeaders { base.headers }
        var principal: Base.EndpointPrincipal { base.principal }
        var offlineReads: OfflineReads { .despiteDirectives }
    }

    private enum Shop: Endpoint {
        typealias Response = String
        case catalog
        case search(String)
        case order(user: String)

        var path: String {
            switch self {
            case .catalog: "/catalog"
            case .search: "/search"
            case .order: "/order"
            }
        }
        var task: HTTPTask { if case .search(let words) = self { .query(["q": .init(words)]) } else { .plain } }
        var principal: String? { if case .order(let user) = self { user } else { nil } }
        var timeout: Duration { if case .search = self { .seconds(2) } else { .seconds(20) } }
        var retry: RetryPlan { if case .catalog = self { RetryPlan(limit: 1, delay: .zero) } else { .never } }
        var maximumBodyBytes: Int { 16 }
        var rule: RuleSettings { RuleSettings { $0.freshness.lifetime = .minutes(5) } }
        var sampleResponse: SampleResponse { SampleResponse(content: Data(path.utf8)) }
    }

    /// An application's namespace with an endpoint for each kind of item.
    private enum API {
        struct Item<Value: Codable & Sendable>: Endpoint {
            typealias Response = Value
            struct Tuning: Sendable {
                var timeout: Duration = .seconds(5)
                var retry: RetryPlan?
            }
            let path: String
            var tuning = Tuning()
            var timeout: Duration { tuning.timeout }
            var retry: RetryPlan? { tuning.retry }
        }
    }

    private static let environment = ServerEnvironment("test", baseURL: ScriptedClient.url)

    @Test func protocolOfAnAPISetsThePrincipalOfAllItsEndpoints() async throws {
        try await ScriptedClient.run(.init(environment: Self.environment)) { fixture async throws in
            fixture.script("/inbox", .fresh("ada's"))
            let value = try await fixture.client.fetch(Inbox(user: "ada")).value
            #expect(value == "ada's")
            #expect(try fixture.client.request(for: Inbox(user: "ada")).principal == "ada")
            fixture.client.mode = .offline
            await expect(.offlineMiss) { _ = try await fixture.client.fetch(Inbox(user: "bob")) }
            #expect(try await fixture.client.fetch(Inbox(user: "ada")).value == "ada's")
            #expect(try await fixture.client.fetch(AnyEndpoint(Inbox(user: "ada")), as: String.self).value == "ada's")
        }
    }

    @Test func genericWrapperPassesSettingsOn() async throws {
        try await ScriptedClient.run(.init(environment: Self.environment)) { fixture async throws in
            for user in ["ada", "bob"] { fixture.script("/inbox", .ok(user, fields: [.cacheControl: "no-store"])) }
            let (ada, bob) = (KeptOffline(base: Inbox(user: "ada")), KeptOffline(base: Inbox(user: "bob")))
            #expect(try await fixture.client.fetch(ada).value == "ada")
            #expect(try await fixture.client.fetch(bob).value == "bob")
            fixture.client.mode = .offline
            #expect(try await fixture.client.fetch(ada).value == "ada")
            #expect(try await fixture.client.fetch(KeptOffline(base: ada)).value == "ada")
            #expect(try await fixture.client.fetch(bob).value == "bob")
            await expect(.offlineMiss) { _ = try await fixture.client.fetch(KeptOffline(base: Inbox(user: "eve"))) }
        }
    }

    @Test func casesOfAnEnumHaveTheirOwnSettings() async throws {
        let sleeper = ManualDurationClock()
        // A failure does not keep the next call from the network.
        let configuration = CachingClient.Configuration(environment: Self.environment, mode: .online)
        try await ScriptedClient.run(sleeper: sleeper, configuration) { fixture async throws in
            let shop = fixture.client.of(Shop.self)
            // The catalog is retried once, and fresh by its rule.
            fixture.script("/catalog", .failure(.connect), .ok("catalog"))
            #expect(try await shop.fetch(.catalog).value == "catalog")
            #expect(try await shop.fetch(.catalog).source == .store)
            // A search is not retried, and its time is short.
            fixture.script("/search?q=a", .failure(.connect), .ok("", beforeHead: Gate()))
            await expect(.originUnreachable) { _ = try await shop.fetch(.search("a")) }
            async let slow = failure { _ = try await shop.fetch(.search("a")) }
            await fixture.transport.waitForRequests(4)
            await sleeper.waitForDeadline(.seconds(2))
            sleeper.advance(by: .seconds(2))
            #expect(await slow?.code == .timeout)
            // An order belongs to its user, and has a limit.
            fixture.script("/order", .ok("ada's"), .ok(String(repeating: "x", count: 17)))
            #expect(try await shop.fetch(.order(user: "ada")).value == "ada's")
            await expect(.bodyTooLarge) { _ = try await shop.fetch(.order(user: "bob")) }
            #expect(try await shop.fetch(.order(user: "ada")).source == .store)
        }
    }

    @Test func sampleOfAnEnumAnswersInTests() async throws {
        try await withTestClient(.init(environment: Self.environment)) { test async throws in
            for endpoint in [Shop.catalog, .search("a"), .order(user: "ada")] {
                try test.transport.script(samplesOf: endpoint, environment: Self.environment)
                #expect(try await test.client.fetch(endpoint).value == endpoint.path)
            }
        }
    }

    @Test func nestedGenericEndpointHasItsSettings() async throws {
        let sleeper = ManualDurationClock()
        try await ScriptedClient.run(sleeper: sleeper, .init(environment: Self.environment)) { fixture async throws in
            fixture.script("/numbers", .status(.serviceUnavailable), .fresh("[1, 2]"))
            let retried = API.Item<[Int]>(path: "/numbers", tuning: .init(retry: RetryPlan(limit: 1, delay: .zero)))
            #expect(try await fixture.client.fetch(retried).value == [1, 2])
            // Another type of the same response is the same entry.
            #expect(try await fixture.client.fetch(API.Item<[Double]>(path: "/numbers")).value == [1, 2])
            #expect(fixture.transport.requests.count == 2)
            fixture.script("/slow", .ok("", beforeHead: Gate()))
            async let slow = failure { _ = try await fixture.client.fetch(API.Item<[Int]>(path: "/slow")) }
            await fixture.transport.waitForRequests(3)
            await sleeper.waitForDeadline(.seconds(5))
            sleeper.advance(by: .seconds(5))
            #expect(await slow?.code == .timeout)
        }
    }

    /// The call's options precede the endpoint's, and these the client's.
    @Test func closestSettingWins() async throws {
        var configuration = CachingClient.Configuration(environment: Self.environment)
        configuration.maximumBodyBytes = 4
        configuration.retry = RetryPlan(limit: 3, delay: .zero)
        configuration.offlineReads = .despiteDirectives
        try await ScriptedClient.run(configuration) { fixture async throws in
            // The endpoint has no policy, and its own limit of 16 bytes.
            let whole = ScriptedTransport.Reply.ok("0123456789", fields: [.cacheControl: "no-store"])
            fixture.script("/search?q=a", .failure(.connect), whole, whole)
            await expect(.originUnreachable) { _ = try await fixture.client.fetch(Shop.search("a")) }
            let call = fixture.client.call(Shop.search("a"))
            #expect(try await call.fetch().value == "0123456789")
            await expect(.bodyTooLarge) { _ = try await call.with { $0.maximumBodyBytes = 9 }.fetch(.networkOnly) }
            // The client's limit applies where the endpoint has none.
            fixture.script("/numbers", .status(.serviceUnavailable), .status(.serviceUnavailable), .fresh("[1, 2]"))
            await expect(.bodyTooLarge) { _ = try await fixture.client.fetch(API.Item<[Int]>(path: "/numbers")) }
            #expect(fixture.transport.requests.count == 6)
        }
    }
}
