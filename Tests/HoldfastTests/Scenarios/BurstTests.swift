import Foundation
import HTTPCache
import HoldfastTesting
import SampleOrigin
import Testing

@testable import Holdfast

/// Many calls at the same moment.
@Suite(.timeLimit(.minutes(20))) struct BurstTests {
    /// Fetches different targets; all requests are under way before the first response.
    private func fetchTogether(_ count: Int, _ fixture: ClientFixture) async throws {
        let gate = OriginGate()
        fixture.origin.force(.hold(gate), times: count)
        try await withThrowingTaskGroup(of: CacheResponse.Source.self) { group in
            for number in 0..<count {
                group.addTask { try await fixture.client.fetch(fixture.get("/counter?number=\(number)")).source }
            }
            while fixture.origin.requestCount < count, !Task.isCancelled { await Task.yield() }
            gate.open()
            for try await source in group { #expect(source == .network) }
        }
        #expect(fixture.origin.requestCount == count)
    }

    @Test func twoHundredFetchesFromASlowOriginSucceed() async throws {
        try await ClientFixture.run { fixture in try await fetchTogether(200, fixture) }
    }

    @Test func connectionsFollowTheRequestLimit() async throws {
        var options = EngineOptions()
        options.inFlightLimit = 270
        try await ClientFixture.run(.init(options: options)) { fixture in try await fetchTogether(270, fixture) }
    }

    /// A response that is read but not stored keeps no permit of the origin, and must not block the
    /// connections of other calls.
    @Test func openUnstoredResponsesLeaveConnectionsForOtherCalls() async throws {
        var options = EngineOptions()
        options.inFlightLimit = 8
        try await ClientFixture.run(.init(options: options)) { fixture in
            let gate = OriginGate()
            fixture.origin.force(.holdBody(after: 1000, gate), times: 30)
            var open: [CacheResponse] = []
            for number in 0..<30 {
                var request = try fixture.client.request(for: fixture.get("/bytes/100000?number=\(number)"))
                request.storage = .never
                open.append(try await fixture.client.respond(to: request))
            }
            let source = try await fixture.client.fetch(fixture.get("/counter")).source
            #expect(source == .network && fixture.origin.openConnections == 31)
            gate.open()
            for response in open { #expect(try await response.body.collect(upTo: 1 << 20).readableBytes == 100_000) }
        }
    }

    @Test func fetchesWithoutAConnectionFailAsOverloaded() async throws {
        let transport = HTTPClientTransport.Configuration(
            connectTimeout: .milliseconds(200),  // passes
            idleTimeout: .seconds(3600),
            connectionsPerOrigin: 1,
            keptTime: .seconds(3600)
        )
        try await ClientFixture.run(transport: transport) { fixture in
            // A busy machine may be too slow for the short connection timeout. Then a connection
            // exists.
            while (try? await fixture.client.fetch(fixture.get("/counter?first"), .networkOnly)) == nil {}
            let gate = OriginGate()
            fixture.origin.force(.hold(gate), path: "/counter")
            async let held = fixture.client.fetch(fixture.get("/counter?held")).source
            await gate.waitForArrivals(1)
            await withTaskGroup(of: HoldfastError.Code?.self) { surplus in
                for number in 0..<30 {
                    let endpoint = fixture.get("/bytes/10?surplus=\(number)")
                    surplus.addTask {
                        do throws(HoldfastError) {
                            _ = try await fixture.client.fetch(endpoint)
                            return nil
                        } catch {
                            return error.code
                        }
                    }
                }
                for await code in surplus { #expect(code == .overloaded) }
            }
            #expect(fixture.origin.requestCount(path: "/bytes/10") == 0)
            gate.open()
            let sources = [try await held, try await fixture.client.fetch(fixture.get("/counter?last")).source]
            #expect(sources == [.network, .network])
        }
    }

    @Test(arguments: [false, true]) func twoThousandStreamsOfOneEndpointSendOneRequest(isStored: Bool) async throws {
        try await ClientFixture.run { fixture in
            if isStored { _ = try await fixture.client.fetch(fixture.feed) }
            let before = fixture.origin.requestCount
            let gate = OriginGate()
            fixture.origin.force(.hold(gate))
            try await withThrowingTaskGroup(of: [CacheResponse.Source].self) { group in
                for _ in 0..<2000 {
                    group.addTask {
                        var sources: [CacheResponse.Source] = []
                        for try await emission in fixture.client.startWith(fixture.feed) {
                            sources.append(emission.source)
                        }
                        return sources
                    }
                }
                while fixture.client.engine.memberCount < 2000, !Task.isCancelled { await Task.yield() }
                gate.open()
                for try await sources in group { #expect(sources == (isStored ? [.store, .network] : [.network])) }
            }
            #expect(fixture.origin.requestCount == before + 1)
        }
    }

    @Test func streamsOfThirtyPrincipalsSendOneRequestEach() async throws {
        try await ClientFixture.run { fixture in
            let gate = OriginGate()
            fixture.origin.force(.hold(gate), times: 30)
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<600 {
                    var endpoint = fixture.get("/counter")
                    endpoint.headers[.authorization] = "Bearer \(number % 30)"
                    let asked = endpoint
                    group.addTask {
                        var count = 0
                        for try await _ in fixture.client.startWith(asked) { count += 1 }
                        return count
                    }
                }
                while fixture.client.engine.memberCount < 600, !Task.isCancelled { await Task.yield() }
                gate.open()
                for try await count in group { #expect(count == 1) }
            }
            #expect(fixture.origin.requestCount == 30)
        }
    }
}
