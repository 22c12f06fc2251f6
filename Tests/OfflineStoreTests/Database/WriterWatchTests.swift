import HTTPCache
import HTTPCacheSemantics
import Synchronization
import TestSupport
import Testing

@testable import OfflineStore

/// How a store that is open for reading alone learns of its writer's commits, and that it does not
/// poll without watchers.
@Suite(.timeLimit(.minutes(20))) struct WriterWatchTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    private func openReader() async throws -> CacheManager {
        var configuration = CacheManager.Configuration()
        configuration.readerCount = 1
        configuration.changeInterval = .milliseconds(10)
        return try await CacheManager.openReadOnly(
            at: folder.store,
            configuration: configuration,
            clock: clock,
            logger: quiet
        )
    }

    private func isPolling(_ store: CacheManager) -> Bool { store.core.writerWatch?.isLooking ?? false }

    @Test func thirtyWatchersSeeEachKindOfChange() async throws {
        let writer = try await openStore(folder.store, clock: clock)
        let reader = try await openReader()
        let key = try cacheKey("/x")
        let (heard, hearing) = AsyncStream.makeStream(of: Void.self)
        let watchers = (0..<30).map { number in
            let changes = reader.changes(of: number % 2 == 0 ? .key(key) : .tag("t"))
            return Task {
                var all: [StoreChange] = []
                for await change in changes {
                    all.append(change)
                    hearing.yield()
                }
                return all
            }
        }
        var iterator = heard.makeAsyncIterator()
        let stored = try #require(try await writer.store(draft(key, at: clock.now()), "x"))
        for _ in watchers { await iterator.next() }
        #expect(try await reader.text(of: key) == "x")
        try await writer.invalidateResponses(tagged: "t")
        for _ in watchers { await iterator.next() }
        _ = try await writer.responses.freshen(
            stored,
            with: renewed(stored, at: clock.now()),
            fencingNumber: writer.responses.invalidationSequence
        )
        for _ in watchers { await iterator.next() }
        try await reader.close()
        for watcher in watchers {
            let all = await watcher.value
            #expect(all.allSatisfy { $0.scope == .all && $0.tags.isEmpty })
            // The sweep behind the invalidation is one more commit.
            #expect(all.count >= 3 && all.prefix(2).map(\.kind) == [.stored, .invalidated])
        }
        try await writer.close()
    }

    /// Without watchers there is no polling; a later watcher gets later changes.
    @Test func pollsOnlyWhileThereAreWatchers() async throws {
        let writer = try await openStore(folder.store, clock: clock)
        let reader = try await openReader()
        #expect(!isPolling(reader))
        for round in 0..<3 {
            try await writer.setObject(-round, forKey: "unheard")
            let watching = Task { [changes = reader.changes(of: .all)] () -> StoreChange? in
                for await change in changes { return change }
                return nil
            }
            #expect(isPolling(reader))
            try await writer.setObject(round, forKey: "n")
            #expect(await watching.value == StoreChange(.stored, .all))
            watching.cancel()
            while isPolling(reader), !Task.isCancelled { await Task.yield() }
        }
        try await reader.close()
        for await _ in reader.changes(of: .all) { Issue.record("A closed store changed.") }
        #expect(!isPolling(reader))
        try await writer.close()
    }

    /// The writer continued with another database: everything may have changed.
    @Test func anotherDatabaseIsPublishedAsAChangeOfEverything() async throws {
        let writer = try await openStore(folder.store, clock: clock)
        try await writer.setObject(1, forKey: "n")
        let reader = try await openReader()
        var changes = reader.changes(of: .all).makeAsyncIterator()
        try writer.setAsideForTesting()
        #expect(await changes.next() == StoreChange(.invalidated, .all))
        #expect(try await reader.object(Int.self, forKey: "n") == nil)
        try await writer.setObject(2, forKey: "n")
        #expect(await changes.next() == StoreChange(.stored, .all))
        #expect(try await reader.object(Int.self, forKey: "n") == 2)
        try await reader.close()
        try await writer.close()
    }
}
