import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import OfflineStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct ChangeTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    @Test func changeIsPublishedAfterLookupsSeeIt() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/x")
        var changes = store.changes(of: .key(key)).makeAsyncIterator()

        async let stored = store.store(draft(key, at: clock.now(), tags: ["t"]), "x")
        #expect(await changes.next() == StoreChange(.stored, .key(key), tags: ["t"]))
        #expect(try await store.responses.lookup(key).count == 1)
        let response = try #require(try await stored)

        async let freshened = store.responses.freshen(
            response,
            with: renewed(response, at: clock.now(), tags: ["u"]),
            fencingNumber: store.responses.invalidationSequence
        )
        #expect(await changes.next() == StoreChange(.freshened, .key(key), tags: ["u"]))
        #expect(try await freshened != nil)

        let scopes: [InvalidationScope] = [.tag("u"), .key(key), .target(key.components.target), .all]
        for scope in scopes {
            async let number = store.responses.invalidate(scope, keepingForOffline: true, at: clock.now())
            #expect(await changes.next() == StoreChange(.invalidated, scope))
            #expect(try await store.responses.lookup(key).map(\.head.isInvalidated) == [true])
            _ = try await number
        }
        try await store.close()
    }

    @Test func explicitPurgesArePublished() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/x")
        var changes = store.changes(of: .key(key)).makeAsyncIterator()
        try await store.setResponse(RawResponse(status: .ok), for: key, expiry: .never, tags: ["t"])
        #expect(await changes.next() == StoreChange(.stored, .key(key), tags: ["t"]))
        try await store.invalidateResponses(tagged: "t")
        #expect(await changes.next() == StoreChange(.invalidated, .tag("t")))
        try await store.removeResponses(tagged: "t")
        #expect(await changes.next() == StoreChange(.invalidated, .tag("t")))
        try await store.removeResponse(for: key)
        #expect(await changes.next() == StoreChange(.invalidated, .key(key)))
        try await store.removeAll()
        #expect(await changes.next() == StoreChange(.invalidated, .all))
        try store.setAsideForTesting()
        #expect(await changes.next() == StoreChange(.invalidated, .all))
        try await store.close()
    }

    @Test func rejectedResponsesAreNotPublished() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/x")
        let fencingNumber = store.responses.invalidationSequence
        try await store.responses.invalidate(.key(key), keepingForOffline: true, at: clock.now())
        var changes = store.changes(of: .all).makeAsyncIterator()
        #expect(try await store.store(draft(key, at: clock.now()), "late", fencingNumber: fencingNumber) == nil)
        try await store.setObject(1, forKey: "n")
        try await store.store(draft(try cacheKey("/y"), at: clock.now()), "y")
        #expect(await changes.next() == StoreChange(.stored, .key(try cacheKey("/y"))))
        try await store.close()
    }

    @Test func slowWatcherGetsTheNewestChanges() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let changes = store.changes(of: .all)
        for index in 0..<100 {
            try await store.responses.invalidate(.tag("\(index)"), keepingForOffline: true, at: clock.now())
        }
        var seen: [InvalidationScope] = []
        for await change in changes {
            seen.append(change.scope)
            if seen.count == StoreChangeFeed.bufferLimit { break }
        }
        #expect(seen == (36..<100).map { .tag("\($0)") })
        try await store.close()
    }

    // Waiting for a change that cannot come any more must end.
    @Test(.timeLimit(.minutes(20)), arguments: [false, true]) func streamEndsWhenItsStoreIsClosed(isForReading: Bool)
        async throws
    {
        let store = try await openStore(folder.store, clock: clock)
        let watched = isForReading ? try await openReadOnly(folder.store, clock: clock) : store
        let changes = watched.changes(of: .all)
        let reader = Task {
            var scopes: [InvalidationScope] = []
            for await change in changes { scopes.append(change.scope) }
            return scopes
        }
        try await store.responses.invalidate(.tag("last"), keepingForOffline: true, at: clock.now())
        try await watched.close()
        // Changes from before the end arrive before it. A reader may have polled in between.
        let scopes = await reader.value
        if isForReading { #expect(scopes.allSatisfy { $0 == .all }) } else { #expect(scopes == [.tag("last")]) }
        for await _ in watched.changes(of: .all) { Issue.record("A closed store changed.") }
        try await store.close()
    }

    @Test func streamEndsWhenItsTaskIsCancelled() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let changes = store.changes(of: .all)
        let reader = Task {
            var count = 0
            for await _ in changes { count += 1 }
            return count
        }
        try await store.responses.invalidate(.all, keepingForOffline: true, at: clock.now())
        reader.cancel()
        #expect(await reader.value <= 1)
        try await store.close()
    }
}
