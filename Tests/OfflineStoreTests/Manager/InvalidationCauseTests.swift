import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import OfflineStore
import OfflineStoreRecovery
import TestSupport
import Testing

/// The cause of an invalidation: on disk and in memory, before and after the sweep, and after a
/// crash, a recovery and a migration.
@Suite(.timeLimit(.minutes(20))) struct InvalidationCauseTests {
    let folder: TemporaryFolder
    let clock = ManualClock()
    var path: String { folder.store + "/0001.sqlite" }

    init() throws { folder = try TemporaryFolder() }

    private func causes(_ store: CacheManager, _ paths: [String]) async throws -> [InvalidationCause?] {
        var causes: [InvalidationCause?] = []
        for path in paths {
            let found = try #require(try await store.responses.lookup(try cacheKey(path)).first)
            causes.append(found.head.invalidation)
            // Listing entries shows the same.
            let entry = try #require(try await store.entries(for: found.key.components.target).first)
            #expect(entry.invalidation == found.head.invalidation && entry.isInvalidated == found.head.isInvalidated)
        }
        return causes
    }

    private static let paths = ["/key", "/target", "/tag", "/both", "/purged", "/plain"]
    private static let expected: [InvalidationCause?] = [
        .unsafeMethod, .unsafeMethod, .unsafeMethod, .unsafeMethod, .unspecified, nil,
    ]

    private func fill(_ store: CacheManager) async throws {
        for path in Self.paths {
            try await store.store(draft(try cacheKey(path), at: clock.now(), tags: [path, "all"]), "old")
        }
        let (responses, now) = (store.responses, clock.now())
        try await responses.invalidate(.key(try cacheKey("/key")), .mark(.unsafeMethod), at: now)
        try await responses.invalidate(
            .target(try TargetURI("https://api.example/target")),
            .mark(.unsafeMethod),
            at: now
        )
        try await responses.invalidate(.tag("/tag"), .mark(.unsafeMethod), at: now)
        try await responses.invalidate(.tag("/both"), .mark(.unsafeMethod), at: now)
        try await responses.invalidate(.tag("/both"), .mark(.unspecified), at: now)
        try await responses.invalidate(.tag("/purged"), .mark(.unspecified), at: now)
    }

    @Test(arguments: [0, 4 << 20])
    func causeIsKnownToEveryReaderAndAfterARestart(memory: Int) async throws {
        func open() async throws -> CacheManager {
            try await openStore(folder.store, clock: clock) { $0.memoryBudget = memory }
        }
        let store = try await open()
        try await fill(store)
        let reader = try await openReadOnly(folder.store, clock: clock)
        // From disk, then from memory if there is one; before the sweep, and after it.
        for _ in 0..<2 { #expect(try await causes(store, Self.paths) == Self.expected) }
        #expect(try await causes(reader, Self.paths) == Self.expected)
        #expect(try await store.statistics().invalidated == 5)
        try await store.settle()
        #expect(try queryInteger(path, "SELECT count(*) FROM unsafe_tag_invalidation") == 0)
        #expect(try await causes(store, Self.paths) == Self.expected)
        #expect(try await causes(reader, Self.paths) == Self.expected)
        #expect(try await reader.statistics().invalidated == 5)
        try await reader.close()
        try await store.close()
        let again = try await open()
        #expect(try await causes(again, Self.paths) == Self.expected)
        // A purge of everything neither removes nor sets a cause.
        try await again.responses.invalidate(.all, keepingForOffline: true, at: clock.now())
        #expect(try await causes(again, Self.paths) == Self.expected.map { $0 ?? .unspecified })
        try await again.close()
        #expect(try await CacheManager.verify(at: folder.store, isFull: true).isWhole)
    }

    /// A process was killed before its sweep.
    @Test func causeSurvivesACrashAndARecovery() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for index in 0..<300 {
            try await store.store(draft(try cacheKey("/\(index)"), at: clock.now(), tags: ["many"]), "x")
        }
        let crashed = folder.path + "/crashed"
        try await store.settle()
        try withWriterStopped(path) { try copyFolder(folder.store, to: crashed) }
        try await store.close()
        try runSQL(
            crashed + "/0001.sqlite",
            """
            UPDATE store SET sequence = 9;
            INSERT INTO tag_invalidation SELECT id, 9, 0 FROM tag WHERE name = CAST('many' AS BLOB);
            INSERT INTO unsafe_tag_invalidation SELECT id, 9 FROM tag WHERE name = CAST('many' AS BLOB);
            """
        )
        let paths = ["/0", "/150", "/299"]
        let expected: [InvalidationCause?] = [.unsafeMethod, .unsafeMethod, .unsafeMethod]
        let recovered = folder.path + "/recovered"
        let recovery = try await CacheManager.recover(from: crashed, to: recovered)
        #expect(recovery.responses == 300)
        for folder in [crashed, recovered] {
            let reader = try await openReadOnly(folder, clock: clock)
            #expect(try await causes(reader, paths) == expected)
            try await reader.close()
            let store = try await openStore(folder, clock: clock)
            #expect(try await causes(store, paths) == expected)
            try await store.settle()
            #expect(try await causes(store, paths) == expected)
            #expect(try await store.statistics().invalidated == 300)
            try await store.close()
        }
    }

    @Test func causeFollowsAResponseToAnotherKey() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.store(draft(try cacheKey("/a?s=1"), at: clock.now()), "a")
        try await store.responses.invalidate(
            .target(try TargetURI("https://api.example/a?s=1")),
            .mark(.unsafeMethod),
            at: clock.now()
        )
        let moved = try cacheKey("/a")
        _ = try await store.reviseResponses { _ in ResponseRevision(key: moved) }
        #expect(try await causes(store, ["/a"]) == [.unsafeMethod])
        try await store.close()
    }

    @Test func fresheningAndReplacementClearTheCause() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/a")
        let scope = InvalidationScope.key(key)
        let stored = try #require(try await store.store(draft(key, at: clock.now()), "a"))
        try await store.responses.invalidate(scope, .mark(.unsafeMethod), at: clock.now())
        let renewal = renewed(stored, at: clock.now().adding(.seconds(60)))
        _ = try await store.responses.freshen(
            stored,
            with: renewal,
            fencingNumber: store.responses.invalidationSequence
        )
        #expect(try await causes(store, ["/a"]) == [nil])
        try await store.responses.invalidate(scope, .mark(.unspecified), at: clock.now())
        #expect(try await causes(store, ["/a"]) == [.unspecified])
        try await store.responses.invalidate(scope, .mark(.unsafeMethod), at: clock.now())
        try await store.store(draft(key, at: clock.now()), "b")
        #expect(try await causes(store, ["/a"]) == [nil])
        try await store.close()
    }

    /// Lost invalidations may have had any cause, so the entries are served offline as before.
    @Test func lostInvalidationsLeaveTheCauseUnspecified() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.store(draft(try cacheKey("/a"), at: clock.now()), "a")
        try await store.close()
        let before = try readFile(path)
        let again = try await openStore(folder.store, clock: clock)
        try await again.responses.invalidate(.key(try cacheKey("/b")), .mark(.unsafeMethod), at: clock.now())
        try await again.close()
        try writeFile(path, before)
        let behind = try await openStore(folder.store, clock: clock)
        #expect(try await causes(behind, ["/a"]) == [.unspecified])
        try await behind.close()
    }
}
