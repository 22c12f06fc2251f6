import Foundation
import Holdfast
import HoldfastTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct StreamTests {
    @Test func nothingHappensBeforeIteration() async throws {
        try await ScriptedClient.run { fixture in
            let stream = fixture.client.startWith(fixture.get("/x"))
            for _ in 0..<100 { await Task.yield() }
            #expect(fixture.transport.requests.isEmpty)
            fixture.script("/x", .fresh("1"), .fresh("2"))
            for _ in 0..<2 { _ = await stream.collected() }
            #expect(fixture.transport.requests.count == 2)
        }
    }

    @Test func oneIterationReadsEachSourceOnce() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("2"))
            _ = await fixture.client.startWith(fixture.get("/x")).collected()
            let both = await fixture.client.startWith(fixture.get("/x")).collected()
            #expect(both.emissions.map(\.value) == ["1", "2"])
            #expect(fixture.transport.requests.count == 2)
        }
    }

    @Test func networkRequestRunsWhileTheStoredValueIsRead() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("2"))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            var iterator = fixture.client.startWith(fixture.get("/x")).makeAsyncIterator()
            let stored = try await iterator.next()
            #expect(stored?.value == "1")
            await fixture.transport.waitForRequests(2)
            let fresh = try await iterator.next()
            #expect(fresh?.value == "2")
            let end = try await iterator.next()
            #expect(end == nil)
        }
    }

    @Test func nothingIsEmittedAfterTheEnd() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .failure(.connect))
            var iterator = fixture.client.startWith(fixture.get("/x")).makeAsyncIterator()
            await expect(.originUnreachable) { _ = try await iterator.next() }
            for _ in 0..<3 {
                let next = try await iterator.next()
                #expect(next == nil)
            }
        }
    }

    @Test func releasingTheIteratorEndsTheRequest() async throws {
        try await ScriptedClient.run { fixture in
            let (held, ended) = (Gate(), Events())
            fixture.script("/x", .fresh("1"), .ok("2", fields: [.cacheControl: "no-store"], beforeHead: held))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            do {
                var iterator = fixture.client.startWith(fixture.get("/x")).makeAsyncIterator()
                _ = try await iterator.next()
                await fixture.transport.waitForRequests(2)
                ended.append("left")
            }
            // The engine has no request under way any more: the gate was never opened.
            while fixture.client.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
            #expect(ended.all == ["left"])
        }
    }

    @Test func cancelledIterationThrows() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .ok("2", beforeHead: Gate()))
            let task = Task { try await fixture.client.startWith(fixture.get("/x")).first { _ in true } }
            await fixture.transport.waitForRequests(1)
            task.cancel()
            await #expect(throws: CancellationError.self) { _ = try await task.value }
        }
    }

    @Test func releasingTheSubscriptionEndsTheRequestWithoutACallback() async throws {
        final class Screen {
            let subscription: StreamSubscription
            init(_ stream: EmissionStream<String>, _ events: Events) {
                subscription = stream.subscribe(
                    onNext: { _ in events.append("next") },
                    onError: { _ in events.append("error") },
                    onCompleted: { events.append("completed") }
                )
            }
        }
        try await ScriptedClient.run { fixture in
            let events = Events()
            fixture.script("/x", .ok("2", fields: [.cacheControl: "no-store"], beforeHead: Gate()))
            var screen: Screen? = Screen(fixture.client.startWith(fixture.get("/x")), events)
            await fixture.transport.waitForRequests(1)
            _ = screen
            screen = nil
            while fixture.client.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
            #expect(events.all.isEmpty)
        }
    }

    @Test func staleValueCanBeLeftOut() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("2"), .fresh("2"))
            let call = fixture.client.call(fixture.get("/x")).with { $0.staleValues = .skipped }
            _ = try await call.fetch()
            // The second time the same value comes again; it repeats no value that was emitted.
            for _ in 0..<2 {
                fixture.clock.advance(by: .seconds(61))
                let emissions = await call.request().collected().emissions
                #expect(emissions.map(\.value) == ["2"] && emissions.map(\.isUnchanged) == [false])
            }
        }
    }

    @Test(arguments: [true, false]) func unchangedResponseCanBeSuppressed(isValidated: Bool) async throws {
        try await ScriptedClient.run { fixture in
            let again: ScriptedTransport.Reply = isValidated ? .status(.notModified) : .fresh("1", etag: "\"a\"")
            fixture.script("/x", .fresh("1", etag: "\"a\""), again)
            let call = fixture.client.call(fixture.get("/x")).with { $0.unchangedValues = .suppressed }
            _ = try await call.fetch()
            let both = await call.request().collected()
            #expect(both.emissions.map(\.source) == [.store] && both.failure == nil)
            #expect(fixture.transport.requests.count == 2)
        }
    }

    @Test func followingStreamSeesALaterWrite() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("2"), .fresh("2"), .fresh("3"))
            let call = fixture.client.call(fixture.get("/x")).with { $0.followsStore = true }
            _ = try await call.fetch()
            var iterator = call.request().makeAsyncIterator()
            var seen: [String?] = []
            seen.append(try await iterator.next()?.value)
            seen.append(try await iterator.next()?.value)
            // Other calls store the same value, which is not emitted, and then another one.
            for _ in 0..<2 { _ = try await fixture.client.fetch(fixture.get("/x"), .networkOnly) }
            let live = try await iterator.next()
            seen.append(live?.value)
            #expect(seen == ["1", "2", "3"] && live?.source == .store)
        }
    }

    @Test func followingStreamEndsWhenItIsCancelled() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"))
            let seen = Events()
            let call = fixture.client.call(fixture.get("/x")).with { $0.followsStore = true }
            let subscription = call.request().subscribe(
                onNext: { seen.append($0.value) },
                onError: { seen.append("\($0.code)") },
                onCompleted: { seen.append("completed") }
            )
            while seen.all.isEmpty, !Task.isCancelled { await Task.yield() }
            subscription.cancel()
            await subscription.finished()
            #expect(seen.all == ["1"])
        }
    }

    @Test func followingStreamOutlivesAQuietFailure() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"), .failure(.connect), .fresh("2"))
            let call = fixture.client.call(fixture.get("/x")).with {
                $0.followsStore = true
                $0.networkFailure = .endingQuietly
            }
            _ = try await call.fetch()
            var iterator = call.request().makeAsyncIterator()
            let stored = try await iterator.next()
            await fixture.transport.waitForRequests(2)
            while fixture.client.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
            async let later = fixture.client.fetch(fixture.get("/x"), .networkOnly)
            let live = try await iterator.next()
            _ = try await later
            #expect(stored?.value == "1" && live?.value == "2")
        }
    }
}
