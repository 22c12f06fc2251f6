import Foundation
import Holdfast
import HoldfastTesting
import SampleOrigin
import Testing

@Suite(.timeLimit(.minutes(20))) struct LimitTests {
    private struct Limited: Endpoint {
        typealias Response = Data
        var baseURL: String
        var path: String
        var maximumBodyBytes: Int? { 10_000 }
    }

    @Test(arguments: ["/bytes/10001", "/bytes/10001?chunked=true", "/bytes/50000000?chunked=true"])
    func responseBeyondTheLimitIsAnError(_ path: String) async throws {
        try await ClientFixture.run { fixture in
            await expect(.bodyTooLarge) {
                _ = try await fixture.client.fetch(Limited(baseURL: fixture.origin.baseURL, path: path), .networkOnly)
            }
        }
    }

    @Test(arguments: ["/bytes/10000", "/bytes/10000?chunked=true"])
    func responseOfExactlyTheLimitIsRead(_ path: String) async throws {
        try await ClientFixture.run { fixture in
            let endpoint = Limited(baseURL: fixture.origin.baseURL, path: path)
            let value = try await fixture.client.fetch(endpoint).value
            #expect(value.count == 10_000)
        }
    }

    @Test func callLimitOverridesTheEndpoints() async throws {
        try await ClientFixture.run { fixture in
            let endpoint = Limited(baseURL: fixture.origin.baseURL, path: "/bytes/10001")
            let call = fixture.client.call(endpoint).with { $0.maximumBodyBytes = 20_000 }
            let value = try await call.fetch().value
            #expect(value.count == 10_001)
            await expect(.bodyTooLarge) {
                _ = try await fixture.client.call(endpoint).with { $0.maximumBodyBytes = 10 }.fetch(.networkOnly)
            }
        }
    }

    @Test func recentResponseIsServedWithoutTheNetwork() async throws {
        try await ClientFixture.run { fixture in
            // Its own fields make it stale at once.
            let endpoint = fixture.get("/counter?max-age=0")
            let call = fixture.client.call(endpoint).with { $0.reuseWithin = .seconds(5) }
            let first = try await call.fetch().value
            fixture.clock.advance(by: .seconds(4))
            let again = try await call.fetch()
            #expect(again.value == first && again.source == .store)
            #expect(fixture.origin.requestCount == 1)
            fixture.clock.advance(by: .seconds(2))
            let later = try await call.fetch()
            #expect(later.value != first && later.source == .network)
        }
    }

    /// A client on a real origin; the test decides when its timeouts pass.
    private func runWithTimeouts(_ body: (RunningOrigin, ManualFixture) async throws -> Void) async throws {
        try await SampleOrigin.withOrigin(OriginConfiguration()) { origin in
            let transport = HTTPClientTransport(configuration: .patient)
            let fixture = try await ManualFixture(transport: transport)
            try await body(origin, fixture)
            try await fixture.close()
            try await transport.shutDown()
        }
    }

    @Test func timeoutClosesTheRequestOnTheWire() async throws {
        try await runWithTimeouts { origin, fixture in
            let hold = OriginGate()
            origin.force(.hold(hold))
            let endpoint = PathEndpoint(baseURL: origin.baseURL, path: "/bytes/10")
            let call = fixture.client.call(endpoint, as: Data.self).with { $0.timeout = .seconds(5) }
            let task = Task { try await call.fetch() }
            while origin.requestCount == 0, !Task.isCancelled { await Task.yield() }
            await fixture.sleeper.sleepers(atLeast: 2)
            fixture.sleeper.advance(by: .seconds(5))
            await expect(.timeout) { _ = try await task.value }
            await origin.waitUntilCancelled()
            hold.open()
        }
    }

    @Test func timeoutIncludesTheBody() async throws {
        try await runWithTimeouts { origin, fixture in
            let hold = OriginGate()
            origin.force(.holdBody(after: 1000, hold))
            // A response that is being stored continues without its caller; any other ends.
            let endpoint = PathEndpoint(baseURL: origin.baseURL, path: "/bytes/100000", storage: .never)
            let reached = HoldfastTesting.Gate()
            let call = fixture.client.call(endpoint, as: Data.self).with { options in
                options.timeout = .seconds(5)
                options.onProgress = { _ in reached.open() }
            }
            let task = Task { try await call.fetch(.networkOnly) }
            try await reached.wait()
            await fixture.sleeper.sleepers(atLeast: 1)
            fixture.sleeper.advance(by: .seconds(5))
            await expect(.timeout) { _ = try await task.value }
            await origin.waitUntilCancelled()
            hold.open()
        }
    }

    @Test func streamEmitsTheStoredValueBeforeItsTimeout() async throws {
        let fixture = try await ManualFixture()
        fixture.transport.script("https://a.example/", .ok("stored", fields: [.cacheControl: "max-age=60"]))
        fixture.transport.script("https://a.example/", .ok("late", beforeHead: HoldfastTesting.Gate()))
        let endpoint = PathEndpoint(baseURL: "https://a.example", path: "/")
        _ = try await fixture.client.fetch(endpoint)
        var stream = fixture.client.call(endpoint).with { $0.timeout = .seconds(5) }.request().makeAsyncIterator()
        let stored = try await stream.next()
        #expect(stored?.value == "stored" && stored?.source == .store)
        await fixture.transport.waitForRequests(2)
        await fixture.sleeper.sleepers(atLeast: 2)
        fixture.sleeper.advance(by: .seconds(5))
        await expect(.timeout) { _ = try await stream.next() }
        try await fixture.close()
    }
}
