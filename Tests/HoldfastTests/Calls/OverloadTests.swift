import HTTPCache
import HoldfastTesting
import Testing

@testable import Holdfast

/// Requests for which this process had no place or no connection. They were not sent, and they say
/// nothing about the origin.
@Suite(.timeLimit(.minutes(20))) struct OverloadTests {
    private static let target = "https://a.example/thing"
    private let endpoint = PathEndpoint(baseURL: "https://a.example", path: "/thing")

    private static func configuration(
        _ retry: RetryPlan = .never,
        _ change: (inout EngineOptions) -> Void = { _ in }
    ) -> CachingClient.Configuration {
        var options = EngineOptions()
        options.hardTimeout = nil
        change(&options)
        return CachingClient.Configuration(retry: retry, options: options)
    }

    private struct Change: Endpoint {
        typealias Response = String
        var baseURL: String { "https://a.example" }
        var path: String { "/thing" }
        var method: HTTPRequest.Method { .post }
        var task: HTTPTask { .json(["likes": 1]) }
    }

    @Test(arguments: [TransportError.Code.overloaded, .outOfDescriptors])
    func overloadHasItsOwnCodeAndIsNoOutage(_ code: TransportError.Code) async throws {
        let fixture = try await ManualFixture(Self.configuration())
        fixture.transport.script(Self.target, repeating: .failure(code))
        for _ in 0..<30 { await expect(.overloaded) { _ = try await fixture.client.fetch(endpoint) } }
        await expect(.overloaded) { _ = try await fixture.client.fetch(Change()) }
        #expect(fixture.transport.requests.count == 31)
        fixture.transport.script(Self.target, .ok("there"))
        #expect(try await fixture.client.fetch(endpoint).value == "there")
        try await fixture.close()
    }

    @Test func waitingTooLongForAPlaceIsOverload() async throws {
        let fixture = try await ManualFixture(
            Self.configuration {
                $0.inFlightLimit = 1
                $0.waitingLimit = 0
            }
        )
        let gate = HoldfastTesting.Gate()
        fixture.transport.script("https://a.example/held", .ok("held", beforeHead: gate))
        async let held = fixture.client.fetch(PathEndpoint(baseURL: "https://a.example", path: "/held")).value
        await fixture.transport.waitForRequests(1)
        await expect(.overloaded) { _ = try await fixture.client.fetch(endpoint) }
        gate.open()
        #expect(try await held == "held")
        try await fixture.close()
    }

    /// A mutation may be retried too: it was not sent.
    @Test(arguments: [false, true]) func overloadIsRetriedByThePolicy(isMutation: Bool) async throws {
        let fixture = try await ManualFixture(Self.configuration(RetryPlan()))
        fixture.transport.script(Self.target, .failure(.overloaded), .failure(.overloaded), .ok("there"))
        let client = fixture.client
        async let value = isMutation ? client.fetch(Change()).value : client.fetch(endpoint).value
        for _ in 0..<2 {
            await fixture.sleeper.sleepers(atLeast: 1)
            fixture.sleeper.advance(by: .milliseconds(400))
        }
        #expect(try await value == "there")
        #expect(fixture.transport.requests.count == 3)
        try await fixture.close()
    }

    @Test func waitForAPlaceIsRetriedByThePolicy() async throws {
        let fixture = try await ManualFixture(
            Self.configuration(RetryPlan()) {
                $0.inFlightLimit = 1
                $0.waitingLimit = 0
            }
        )
        let gate = HoldfastTesting.Gate()
        fixture.transport.script("https://a.example/held", .ok("held", beforeHead: gate))
        fixture.transport.script(Self.target, .ok("there"))
        async let held = fixture.client.fetch(PathEndpoint(baseURL: "https://a.example", path: "/held")).value
        await fixture.transport.waitForRequests(1)
        async let value = fixture.client.fetch(endpoint).value
        await fixture.sleeper.sleepers(atLeast: 1)
        gate.open()
        #expect(try await held == "held")
        while fixture.client.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
        fixture.sleeper.advance(by: .milliseconds(400))
        #expect(try await value == "there")
        try await fixture.close()
    }

    @Test func lastRetryReportsTheOverload() async throws {
        let fixture = try await ManualFixture(Self.configuration(RetryPlan(limit: 1)))
        fixture.transport.script(Self.target, repeating: .failure(.overloaded))
        let (client, endpoint) = (fixture.client, endpoint)
        let call = Task { try await client.fetch(endpoint) }
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .milliseconds(400))
        await expect(.overloaded) { _ = try await call.value }
        #expect(fixture.transport.requests.count == 2)
        try await fixture.close()
    }

    @Test func storedValueIsServedIfTheStrategyAllowsIt() async throws {
        let fixture = try await ManualFixture(Self.configuration())
        fixture.transport.script(Self.target, .ok("stored", fields: [.cacheControl: "max-age=60"]))
        _ = try await fixture.client.fetch(endpoint)
        fixture.clock.advance(by: .seconds(3600))
        fixture.transport.script(Self.target, repeating: .failure(.overloaded))
        for _ in 0..<30 {
            let stale = try await fixture.client.fetch(endpoint, .networkFirst)
            #expect(stale.value == "stored" && stale.isStale && stale.outcome.detail == .overloaded)
        }
        await expect(.overloaded) { _ = try await fixture.client.fetch(endpoint, .networkOnly) }
        // By RFC 9111, a stale response without permission may only replace an origin that is
        // unreachable.
        await expect(.overloaded) { _ = try await fixture.client.fetch(endpoint, .standard) }
        let throwing = await fixture.client.startWith(endpoint).collected()
        #expect(throwing.emissions.map(\.value) == ["stored"] && throwing.failure == .overloaded)
        let quiet = await fixture.client.startWith(endpoint, ifNetworkFails: .endingQuietly).collected()
        #expect(quiet.emissions.map(\.value) == ["stored"] && quiet.failure == nil)
        try await fixture.close()
    }

    @Test func directivesAgainstStaleUseAreObeyed() async throws {
        let fixture = try await ManualFixture(Self.configuration())
        fixture.transport.script(Self.target, .ok("stored", fields: [.cacheControl: "max-age=60, must-revalidate"]))
        _ = try await fixture.client.fetch(endpoint)
        fixture.clock.advance(by: .seconds(3600))
        fixture.transport.script(Self.target, repeating: .failure(.overloaded))
        await expect(.overloaded) { _ = try await fixture.client.fetch(endpoint, .networkFirst) }
        try await fixture.close()
    }
}
