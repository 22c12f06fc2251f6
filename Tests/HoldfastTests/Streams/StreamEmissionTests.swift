import Foundation
import Holdfast
import HoldfastTesting
import Synchronization
import Testing

/// The values that a stream emits. Each test names other libraries that had the fault.
@Suite(.timeLimit(.minutes(20))) struct StreamEmissionTests {
    /// Counts the values that it decodes.
    private struct CountingDecoder: ResponseDecoder {
        let decoded: Events
        func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
            decoded.append(String(decoding: data, as: UTF8.self))
            return try JSONDecoder().decode(type, from: data)
        }
    }

    // Callers awaited a stream of two values and only ever saw the stored one (Akavache 256, 268).
    // A caller that awaits one value gets no stale one if the network can respond. A caller that
    // awaits the stream to its end gets both.
    @Test func awaitingCallerGetsTheNetworksValue() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("2"), .fresh("3"))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            fixture.clock.advance(by: .seconds(61))
            #expect(try await fixture.client.fetch(fixture.get("/x")).value == "2")
            var last: Emission<String>?
            for try await emission in fixture.client.startWith(fixture.get("/x")) { last = emission }
            #expect(last?.value == "3" && last?.source == .network)
        }
    }

    // The source was read twice (Store 572). StreamTests counts requests; this test also checks
    // that each content is decoded once.
    @Test func eachSourceIsReadAndDecodedOnce() async throws {
        let decoded = Events()
        try await ScriptedClient.run(.init(decoder: CountingDecoder(decoded: decoded))) { fixture in
            fixture.script("/x", .fresh("[1]", etag: "\"1\""), .status(.notModified), .fresh("[2]"))
            let call = fixture.client.call(fixture.get("/x"), as: [Int].self).map(\.first)
            let first = await call.request().collected().emissions
            #expect(first.map(\.value) == [1] && decoded.all == ["[1]"])
            let confirmed = await call.request().collected().emissions
            #expect(confirmed.map(\.value) == [1, 1] && confirmed.last?.isUnchanged == true)
            let changed = await call.request().collected().emissions
            #expect(changed.map(\.value) == [1, 2])
            #expect(decoded.all.filter { $0 == "[2]" }.count == 1 && decoded.all.count <= 3)
            #expect(fixture.transport.requests.count == 3)
        }
    }

    // An open stream did not see a later write (Store 541). This stream sees the write of another
    // client on the same store; StreamTests covers the same client's.
    @Test func openStreamSeesTheWriteOfAnotherClient() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("2"))
            let call = fixture.client.call(fixture.get("/x")).with { $0.followsStore = true }
            var iterator = call.request().makeAsyncIterator()
            #expect(try await iterator.next()?.value == "1")
            let other = fixture.client(.init())
            _ = try await other.fetch(fixture.get("/x"), .networkOnly)
            let live = try await iterator.next()
            #expect(live?.value == "2" && live?.source == .store)
            try await other.close()
        }
    }

    // The source of a value was encoded as an invented status 230 (MoyaMapper). The status is
    // always the origin's, also of stored values.
    @Test func sourceIsNotEncodedAsAStatus() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script(
                "/x",
                .status(.nonAuthoritativeInformation, "1", fields: [.cacheControl: "max-age=60", .eTag: "\"1\""])
            )
            fixture.script("/x", .status(.notModified))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            let both = await fixture.client.startWith(fixture.get("/x")).collected().emissions
            #expect(both.map(\.status) == [.nonAuthoritativeInformation, .nonAuthoritativeInformation])
            #expect(both.map(\.source) == [.store, .network])
        }
    }

    // A closure ran when the chain was built, not when it started (RxNetwork). OnCacheTests covers
    // the closure for the stored value; this test covers every step.
    @Test func noStepRunsBeforeTheStart() async throws {
        let events = Events()
        struct Noting: Endpoint {
            let events: Events
            var baseURL: String { ScriptedClient.url }
            var path: String {
                events.append("path")
                return "/x"
            }
        }
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"))
            let call = Noting(events: events).on(fixture.client).cache
                .validate { _ in events.append("validate") }
                .map { events.append("map \($0.count)") }
            let request = call.onCache { _ in events.append("stored") }
            let stream = request.request().map { events.append("step") }
            for _ in 0..<100 { await Task.yield() }
            #expect(events.all == [] && fixture.transport.requests.isEmpty)
            _ = await stream.collected()
            #expect(events.all.last == "step" && fixture.transport.requests.count == 1)
        }
    }
}
