import Foundation
import Holdfast
import HoldfastTesting
import Synchronization
import Testing

/// What went wrong with streams elsewhere, at the level of the client.
@Suite(.timeLimit(.minutes(20))) struct PitfallStreamsTests {
    /// Counts what it decodes.
    private struct CountingDecoder: ResponseDecoder {
        let decoded: Events
        func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
            decoded.append(String(decoding: data, as: UTF8.self))
            return try JSONDecoder().decode(type, from: data)
        }
    }

    // Callers await a two-value stream and only ever see the stored one (Akavache 256, 268):
    // whoever awaits one value does not get a stale one in the place of an answer that could be
    // had, and whoever awaits the stream to its end gets both.
    @Test func whoeverAwaitsGetsTheNetworksValue() async throws {
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

    // The source is read twice (Store 572). StreamTests counts requests; here each content is
    // decoded once as well.
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

    // A later write is not seen by an open stream (Store 541): not even another client's on the
    // same store. StreamTests has the same client's.
    @Test func aLaterWriteOfAnotherClientIsSeenByAnOpenStream() async throws {
        try await ScriptedFixture.run { fixture in
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

    // The origin of a value is encoded as a fake status 230 (MoyaMapper): the status is the
    // origin's, also of what is stored.
    @Test func whereAValueComesFromIsNoStatus() async throws {
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

    // The closure runs when the chain is built, not when it starts (RxNetwork). OnCacheTests has
    // the stored value's closure; here every step.
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
