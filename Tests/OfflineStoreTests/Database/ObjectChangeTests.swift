import HTTPCache
import HTTPCacheSemantics
import TestSupport
import Testing

@testable import OfflineStore

/// Watching the value of one object, in the process that writes and in one that only reads.
@Suite(.timeLimit(.minutes(20))) struct ObjectChangeTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    enum Watching: CaseIterable {
        case writer, reader
    }

    /// - Parameter body: gets the store that writes, and the one that is watched.
    private func run(_ watching: Watching, _ body: (CacheManager, CacheManager) async throws -> Void) async throws {
        let writer = try await openStore(folder.store, clock: clock)
        var configuration = CacheManager.Configuration()
        configuration.changeInterval = .milliseconds(10)
        let reader = try await CacheManager.openReadOnly(
            at: folder.store,
            configuration: configuration,
            clock: clock,
            logger: quiet
        )
        try await body(writer, watching == .writer ? writer : reader)
        try await reader.close()
        try await writer.close()
    }

    /// Whether it is no value, and not the end.
    private static func isNone<Value>(_ element: StoredObject<Value>??) -> Bool {
        if case .some(.none) = element { true } else { false }
    }

    private static func object(_ element: StoredObject<Int>??) throws -> StoredObject<Int> {
        try #require(element.flatMap { $0 })
    }

    @Test(arguments: Watching.allCases) func thirtyWatchersSeeEachValue(watching: Watching) async throws {
        try await run(watching) { writer, watched in
            try await writer.setObject(1, forKey: "n")
            let (heard, hearing) = AsyncStream.makeStream(of: Void.self)
            let watchers = (0..<30).map { _ in
                Task {
                    var all: [Int?] = []
                    for try await stored in watched.changes(ofObject: "n", as: Int.self) {
                        all.append(stored?.value)
                        hearing.yield()
                    }
                    return all
                }
            }
            var iterator = heard.makeAsyncIterator()
            let key = try cacheKey("/x")
            let steps: [@Sendable () async throws -> Void] = [
                {},
                { try await writer.setObject(2, forKey: "n") },
                {
                    // Neither another object nor a response is a change of this one.
                    try await writer.setObject(7, forKey: "other")
                    _ = try await writer.store(draft(key, at: clock.now()), "x")
                    try await writer.setObjects(["other": 8, "n": 3])
                },
                { try await writer.removeObject(forKey: "n") },
                { try await writer.setObject(4, forKey: "n") },
                // An equal value has new times.
                { try await writer.setObject(4, forKey: "n") },
            ]
            for step in steps {
                try await step()
                for _ in watchers { await iterator.next() }
            }
            try await watched.close()
            for watcher in watchers { #expect(try await watcher.value == [1, 2, 3, nil, 4, 4]) }
        }
    }

    @Test(arguments: Watching.allCases) func slowLoopSeesTheNewestValue(watching: Watching) async throws {
        try await run(watching) { writer, watched in
            var values = watched.changes(ofObject: "n", as: Int.self).makeAsyncIterator()
            for number in 1...100 { try await writer.setObject(number, forKey: "n") }
            #expect(try await values.next()??.value == 100)
            for number in 101...200 { try await writer.setObject(number, forKey: "n") }
            // A reader's poll may be under way.
            var seen = 0
            while seen < 200 { seen = try #require(try await values.next()??.value) }
            #expect(seen == 200)
        }
    }

    enum Removal: CaseIterable {
        case object, everything, expired, eviction, damage
    }

    @Test(arguments: Removal.allCases) func removedValueIsEmittedAsNone(removal: Removal) async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 4 << 20)
        // Large entries are evicted before small ones, even if they were used.
        let large = String(repeating: "1", count: 250_000)
        try await store.setObject(large, forKey: "n", expiry: .after(.seconds(60)))
        var values = store.changes(ofObject: "n", as: String.self).makeAsyncIterator()
        #expect(try await values.next()??.value == large)
        switch removal {
        case .object: try await store.removeObject(forKey: "n")
        case .everything: try await store.removeAll()
        case .expired:
            clock.advance(by: .seconds(61))
            try await store.removeExpired(includingOfflineUsable: true)
        case .eviction:
            let small = String(repeating: "7", count: 10_000)
            for number in 0..<1_000 where try await store.entry(forObjectKey: "n") != nil {
                try await store.setObject(small, forKey: "\(number)")
            }
            // Otherwise, the next value would never come.
            try #require(try await store.entry(forObjectKey: "n") == nil)
        case .damage: try store.setAsideForTesting()
        }
        #expect(Self.isNone(try await values.next()))
        try await store.close()
        #expect(try await values.next() == nil)
    }

    @Test func expiryIsNoChange() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.setObject(1, forKey: "n", expiry: .after(.seconds(60)))
        var values = store.changes(ofObject: "n", as: Int.self).makeAsyncIterator()
        let live = try Self.object(try await values.next())
        #expect(!live.isExpired && live.expiresAt == clock.now().adding(.seconds(60)))
        clock.advance(by: .seconds(61))
        // Something else happens, and the object is the same.
        try await store.invalidateAllResponses()
        try await store.setObject(2, forKey: "n", expiry: .after(.seconds(60)))
        #expect(try await values.next()??.value == 2)
        clock.advance(by: .seconds(61))
        var later = store.changes(ofObject: "n", as: Int.self).makeAsyncIterator()
        let expired = try Self.object(try await later.next())
        #expect(expired.value == 2 && expired.isExpired)
        try await store.close()
    }

    /// An invalidation of responses makes the watcher read, and the object is the same.
    ///
    /// Mutant: `watched-object-is-repeated`.
    @Test func unchangedObjectIsNotEmittedAgain() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.setObject(0, forKey: "n")
        var values = store.changes(ofObject: "n", as: Int.self).makeAsyncIterator()
        #expect(try await values.next()??.value == 0)
        for number in 1...30 {
            try await store.invalidateAllResponses()
            let storing = Task { try await store.setObject(number, forKey: "n") }
            #expect(try await values.next()??.value == number)
            try await storing.value
        }
        try await store.close()
    }

    @Test(arguments: Watching.allCases) func cancellingEndsTheWatching(watching: Watching) async throws {
        try await run(watching) { writer, watched in
            let (heard, hearing) = AsyncStream.makeStream(of: Void.self)
            let watchers = (0..<30).map { _ in
                Task {
                    for try await _ in watched.changes(ofObject: "n", as: Int.self) { hearing.yield() }
                    return Task.isCancelled
                }
            }
            var iterator = heard.makeAsyncIterator()
            for _ in watchers { await iterator.next() }
            #expect(watched.core.objectChanges.isWatched)
            for watcher in watchers { watcher.cancel() }
            for watcher in watchers {
                let isCancelled = try await watcher.value
                #expect(isCancelled)
            }
            while watched.core.objectChanges.isWatched, !Task.isCancelled { await Task.yield() }
            while watched.core.writerWatch?.isLooking == true, !Task.isCancelled { await Task.yield() }
        }
    }

    @Test func closedStoreEndsTheWatching() async throws {
        let store = try await openStore(folder.store, clock: clock)
        var values = store.changes(ofObject: "n", as: Int.self).makeAsyncIterator()
        #expect(Self.isNone(try await values.next()))
        try await store.close()
        #expect(try await values.next() == nil)
        var later = store.changes(ofObject: "n", as: Int.self).makeAsyncIterator()
        #expect(try await later.next() == nil)
    }

    @Test func invalidKeyIsAnErrorAndTheEnd() async throws {
        let store = try await openStore(folder.store, clock: clock)
        var values = store.changes(ofObject: "", as: Int.self).makeAsyncIterator()
        do {
            _ = try await values.next()
            Issue.record("An empty key was accepted.")
        } catch {
            #expect((error as? StoreError)?.code == .invalidKey)
        }
        #expect(try await values.next() == nil)
        try await store.close()
    }

    @Test func valueOfAnotherTypeIsNone() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.setObject("text", forKey: "n")
        var values = store.changes(ofObject: "n", as: Int.self).makeAsyncIterator()
        #expect(Self.isNone(try await values.next()))
        try await store.setObject(5, forKey: "n")
        #expect(try await values.next()??.value == 5)
        try await store.close()
    }
}
