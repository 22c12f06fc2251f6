import HoldfastTesting
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(20))) struct CallRunTests {
    private func run(_ fixture: ScriptedClient, _ change: (inout CallOptions) -> Void = { _ in }) -> CallRun<String> {
        var call = fixture.client.call(fixture.get("/x")).cache
        change(&call.options)
        return CallRun(call)
    }

    /// Stores a response, so that the next run begins with it.
    private func store(_ reply: ScriptedTransport.Reply, _ fixture: ScriptedClient) async throws {
        fixture.script("/x", reply)
        _ = try await fixture.client.fetch(fixture.get("/x"), .networkOnly)
    }

    @Test func storedValueComesFirstThenTheNetworksThenTheEnd() async throws {
        try await ScriptedClient.run { fixture in
            try await store(.fresh("one"), fixture)
            fixture.script("/x", .fresh("two"))
            let run = run(fixture)
            let stored = try await run.next()
            #expect(stored?.value == "one" && stored?.source == .store && run.isAtStoredValue)
            let fresh = try await run.next()
            #expect(fresh?.value == "two" && fresh?.source == .network && !run.isAtStoredValue)
            for _ in 0..<2 { #expect(try await run.next()?.value == nil) }
        }
    }

    @Test func withoutStoredValueTheNetworksIsTheOnlyOne() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("one"))
            let run = run(fixture)
            let fresh = try await run.next()
            #expect(fresh?.value == "one" && fresh?.source == .network && !run.isAtStoredValue)
            #expect(fresh?.isUnchanged == false)
            #expect(try await run.next()?.value == nil)
        }
    }

    @Test func callWithoutStoreNeitherReadsNorWritesIt() async throws {
        try await ScriptedClient.run { fixture in
            try await store(.fresh("one"), fixture)
            fixture.script("/x", .fresh("two"))
            var call = fixture.client.call(fixture.get("/x"))
            call.usesStore = false
            let run = CallRun(call)
            #expect(try await run.next()?.value == "two")
            #expect(try await run.next()?.value == nil)
            #expect(try await fixture.client.stored(fixture.get("/x"))?.value == "one")
        }
    }

    @Test(arguments: [true, false]) func equalValueIsMarkedOrSuppressed(isSuppressed: Bool) async throws {
        try await ScriptedClient.run { fixture in
            try await store(.fresh("one"), fixture)
            fixture.script("/x", .fresh("one"))
            let run = run(fixture) { if isSuppressed { $0.unchangedValues = .suppressed } }
            #expect(try await run.next()?.value == "one")
            let fresh = try await run.next()
            #expect(fresh?.isUnchanged == (isSuppressed ? nil : true))
        }
    }

    @Test func modeThatPrefersStoredValuesLeavesTheNetworkAlone() async throws {
        try await ScriptedClient.run { fixture in
            try await store(.fresh("one"), fixture)
            fixture.client.mode = .preferStored
            let run = run(fixture)
            #expect(try await run.next()?.value == "one")
            #expect(run.isAtStoredValue)
            #expect(try await run.next()?.value == nil)
            #expect(fixture.transport.requests.count == 1)
        }
    }

    @Test func staleValueIsSkippedOnRequest() async throws {
        try await ScriptedClient.run { fixture in
            try await store(.fresh("one"), fixture)
            fixture.clock.advance(by: .seconds(61))
            fixture.script("/x", .fresh("two"))
            let run = run(fixture) { $0.staleValues = .skipped }
            #expect(try await run.next()?.value == "two")
            #expect(try await run.next()?.value == nil)
        }
    }

    @Test func rejectedStatusIsThrownOnceAfterTheStoredValue() async throws {
        try await ScriptedClient.run { fixture in
            try await store(.fresh("one"), fixture)
            fixture.script("/x", .status(.notFound))
            let run = run(fixture)
            #expect(try await run.next()?.value == "one")
            await #expect(throws: HoldfastError.self) { _ = try await run.next() }
            #expect(try await run.next()?.value == nil)
        }
    }

    @Test func followedRunEmitsEachLaterStoredValue() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("one"))
            let run = run(fixture) { $0.followsStore = true }
            #expect(try await run.next()?.value == "one")
            for text in ["two", "three"] {
                try await store(.fresh(text), fixture)
                let emission = try await run.next()
                #expect(emission?.value == text && emission?.source == .store && !run.isAtStoredValue)
            }
        }
    }

    @Test func invalidatedValueIsEmittedAsStaleAndThenFetched() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("one"))
            let run = run(fixture) {
                $0.followsStore = true
                $0.invalidatedValues = .fetched
            }
            #expect(try await run.next()?.value == "one")
            fixture.script("/x", .fresh("two"))
            try await fixture.client.invalidate(fixture.get("/x"))
            let invalidated = try await run.next()
            #expect(invalidated?.value == "one" && invalidated?.isStale == true && invalidated?.isUnchanged == true)
            let fresh = try await run.next()
            #expect(fresh?.value == "two" && fresh?.source == .network)
            #expect(fixture.transport.requests.count == 2)
        }
    }

    @Test func followedRunEndsWithItsClient() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("one"))
            let run = run(fixture) { $0.followsStore = true }
            #expect(try await run.next()?.value == "one")
            try await fixture.client.close()
            #expect(try await run.next()?.value == nil)
        }
    }
}
