import Foundation
import Holdfast
import HoldfastTesting
import SampleOrigin
import Testing

@Suite(.timeLimit(.minutes(20))) struct CallGroupTests {
    private func endpoint(_ number: Int) -> PathEndpoint {
        PathEndpoint(baseURL: "https://a.example", path: "/\(number)")
    }

    @Test func eachCallHasItsOwnResultInOrder() async throws {
        let fixture = try await ManualFixture()
        let first = HoldfastTesting.Gate()
        fixture.transport.script("https://a.example/0", .ok("0", beforeHead: first))
        fixture.transport.script("https://a.example/1", .status(.notFound))
        fixture.transport.script("https://a.example/2", .ok("2"))
        async let fetched = (0..<3).map { fixture.client.call(endpoint($0)) }.fetchEach()
        await fixture.transport.waitForRequests(3)
        first.open()
        let results = try await fetched
        #expect(results.map { try? $0.get().value } == ["0", nil, "2"])
        try await fixture.close()
    }

    @Test func callsUnderWayStayWithinTheLimit() async throws {
        let fixture = try await ManualFixture()
        let gates = (0..<5).map { _ in HoldfastTesting.Gate() }
        for (number, gate) in gates.enumerated() {
            fixture.transport.script("https://a.example/\(number)", .ok("\(number)", beforeHead: gate))
        }
        async let fetched = (0..<5).map { fixture.client.call(endpoint($0)) }.fetchEach(concurrently: 2)
        for (number, gate) in gates.enumerated() {
            await fixture.transport.waitForRequests(min(number + 2, 5))
            #expect(fixture.transport.requests.count == min(number + 2, 5))
            gate.open()
        }
        let values = try await fetched.map { try $0.get().value }
        #expect(values == ["0", "1", "2", "3", "4"])
        try await fixture.close()
    }

    // Such a limit may come from a configuration file.
    @Test(arguments: [0, -1]) func limitBelowOneIsOne(_ limit: Int) async throws {
        let fixture = try await ManualFixture()
        for number in 0..<3 { fixture.transport.script("https://a.example/\(number)", .ok("\(number)")) }
        let calls = (0..<3).map { fixture.client.call(endpoint($0)) }
        #expect(try await calls.fetchAll(concurrently: limit).map(\.value) == ["0", "1", "2"])
        try await fixture.close()
    }

    @Test func firstFailureCancelsTheOthers() async throws {
        try await ClientFixture.run { fixture in
            let hold = OriginGate()
            fixture.origin.force(.hold(hold), path: "/bytes/10")
            let calls = ["/bytes/10", "/failing?status=404"].map { fixture.client.call(fixture.get($0), as: Data.self) }
            await expect(.status) { _ = try await calls.fetchAll() }
            // The held request was closed on the wire.
            await fixture.origin.waitForOpenConnections(atMost: 1)
            hold.open()
        }
    }

    @Test func valuesKeepTheOrderOfTheCalls() async throws {
        try await ClientFixture.run { fixture in
            let calls = (1...20).map { fixture.client.call(fixture.get("/bytes/\($0)"), as: Data.self) }
            let values = try await calls.fetchAll(concurrently: 3)
            #expect(values.map(\.value.count) == Array(1...20))
        }
    }

    @Test func cancellingEndsTheGroup() async throws {
        let fixture = try await ManualFixture()
        fixture.transport.script("https://a.example/0", .ok("0", beforeHead: HoldfastTesting.Gate()))
        let task = Task { try await [fixture.client.call(endpoint(0))].fetchEach() }
        await fixture.transport.waitForRequests(1)
        task.cancel()
        let result = await task.result
        #expect(throws: CancellationError.self) { try result.get() }
        try await fixture.close()
    }

    @Test func onlyMissingEndpointsAreFetched() async throws {
        try await ClientFixture.run { fixture in
            let endpoints = (1...6).map { fixture.get("/moments/harbour-\($0)") }
            for endpoint in endpoints.prefix(3) { _ = try await fixture.client.fetch(endpoint) }
            try await fixture.client.close()
            // Nothing is in memory.
            let client = try await ClientFixture.open(fixture.folder, fixture.clock)
            fixture.origin.force(.status(404), path: "/moments/harbour-5")
            let results = try await client.fetch(all: endpoints)
            let sources = results.map { try? $0.get().source }
            #expect(sources == [.store, .store, .store, .network, nil, .network])
            #expect(fixture.origin.requestCount == 6)
            // Each response was stored on its own.
            let stored = try await client.stored(endpoints[5])
            #expect(stored != nil)
            try await client.close()
        }
    }

    @Test func chainedCallUsesTheFirstValue() async throws {
        let fixture = try await ManualFixture()
        fixture.transport.script("https://a.example/1", .ok("2"))
        fixture.transport.script("https://a.example/2", .ok("3"))
        fixture.transport.script("https://a.example/3", .ok("end"))
        let chain = endpoint(1).call.then { PathEndpoint(baseURL: "https://a.example", path: "/\($0)").call }
            .then { PathEndpoint(baseURL: "https://a.example", path: "/\($0)").call }
        #expect(fixture.transport.requests.isEmpty)
        let value = try await chain.on(fixture.client).fetch().value
        #expect(value == "end")
        try await fixture.close()
    }

    @Test func chainEndsWithItsFirstFailure() async throws {
        let fixture = try await ManualFixture()
        fixture.transport.script("https://a.example/1", .status(.notFound))
        let chain = fixture.client.call(endpoint(1)).then { _ in self.endpoint(2).call }
        await expect(.status) { _ = try await chain.fetch() }
        #expect(fixture.transport.requests.count == 1)
        await expect(.noClient) { _ = try await endpoint(1).call.then { _ in self.endpoint(2).call }.fetch() }
        try await fixture.close()
    }

    @Test func chainedStreamEmitsForEachFirstValue() async throws {
        let fixture = try await ManualFixture()
        fixture.transport.script("https://a.example/1", .ok("2", fields: [.cacheControl: "max-age=60"]), .ok("3"))
        fixture.transport.script("https://a.example/2", .ok("two"))
        fixture.transport.script("https://a.example/3", .ok("three"))
        _ = try await fixture.client.fetch(endpoint(1))
        let chain = fixture.client.call(endpoint(1)).then {
            PathEndpoint(baseURL: "https://a.example", path: "/\($0)").call
        }
        let stream = await chain.request().collected()
        #expect(stream.emissions.map(\.value) == ["two", "three"])
        #expect(stream.failure == nil)
        try await fixture.close()
    }
}
