import Foundation
import Holdfast
import HoldfastTesting
import SampleOrigin
import Testing

/// Streams that continue with later changes of the store.
@Suite(.timeLimit(.minutes(20))) struct FollowedStreamTests {
    // A value that is stored for another principal is not emitted to this one.
    @Test func streamSeesOnlyItsPrincipalsValues() async throws {
        try await ScriptedClient.run { fixture in
            func me(_ principal: String) -> AnyRequest<String> {
                AnyRequest(baseURL: ScriptedClient.url, path: "/me", principal: principal)
            }
            for value in ["ada 1", "bob 1", "bob 2", "ada 2"] { fixture.script("/me", .fresh(value)) }
            var iterator = fixture.client.call(me("ada")).with { $0.followsStore = true }.request().makeAsyncIterator()
            #expect(try await iterator.next()?.value == "ada 1")
            for name in ["bob", "bob", "ada"] { _ = try await fixture.client.fetch(me(name), .networkOnly) }
            #expect(try await iterator.next()?.value == "ada 2")
        }
    }

    // `map` and the other steps apply to later values too, and the stream skips values that they
    // cannot read.
    @Test func stepsApplyToLaterValues() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("two"), .fresh("3"))
            let call = fixture.client.call(fixture.get("/x"), as: Int.self).map { $0 * 10 }.with {
                $0.followsStore = true
            }
            var iterator = call.request().makeAsyncIterator()
            #expect(try await iterator.next()?.value == 10)
            for _ in 0..<2 { _ = try await fixture.client.fetch(fixture.get("/x"), .networkOnly) }
            #expect(try await iterator.next()?.value == 30)
        }
    }

    // Closing the client ends the stream.
    @Test(arguments: [true, false]) func closingTheClientEndsTheStream(ownsItsStore: Bool) async throws {
        func check(_ client: CachingClient, _ request: AnyRequest<String>) async throws {
            let events = Events()
            let subscription = client.call(request).with { $0.followsStore = true }.request().subscribe(
                onNext: { events.append($0.value) },
                onError: { events.append("\($0.code)") },
                onCompleted: { events.append("completed") }
            )
            while events.all.isEmpty, !Task.isCancelled { await Task.yield() }
            try await client.close()
            await subscription.finished()
            #expect(events.all.count == 2 && events.all.last == "completed", "\(events.all)")
        }
        if ownsItsStore {
            try await ClientFixture.run { fixture in
                try await check(fixture.client, AnyRequest(baseURL: fixture.origin.baseURL, path: "/counter"))
            }
        } else {
            try await ScriptedClient.run { fixture in
                fixture.script("/x", .fresh("1"))
                try await check(fixture.client, AnyRequest(baseURL: ScriptedClient.url, path: "/x"))
            }
        }
    }
}
