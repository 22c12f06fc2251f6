import FaultWorkload
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import Logging
import TestSupport
import Testing

@testable import OfflineStore

#if os(Linux)
    import Glibc

    /// Operators hear of a full disk when the store is opened, and of purges that are not on disk:
    /// in their results, at the end, and after the restart.
    @Suite(.timeLimit(.minutes(20)), .enabled(if: SmallDisk.isPossible, "this process may not mount a file system"))
    struct FullDiskReportTests {
        let folder: TemporaryFolder
        let clock = ManualClock()
        private let log = CapturedLog()

        init() throws { folder = try TemporaryFolder() }

        private func open(_ disk: SmallDisk) async throws -> CacheManager {
            var configuration = CacheManager.Configuration(budget: 64 << 20)
            configuration.readerCount = 2
            let path = disk.path + "/store"
            let logger = log.logger(.warning)
            return try await CacheManager.open(at: path, configuration: configuration, clock: clock, logger: logger)
        }

        /// A store with one response, whose disk was full when it was opened.
        private func openFull(_ disk: SmallDisk) async throws -> CacheManager {
            let store = try await open(disk)
            try await store.store(draft(try cacheKey("/kept"), at: clock.now()), "kept")
            let written = try await store.invalidate([.tag("none")], keepingForOffline: false)
            #expect(written.isDurable && log.lines.isEmpty, "\(log.lines)")
            try await store.close()
            disk.fill()
            return try await open(disk)
        }

        private func isInvalidated(_ store: CacheManager) async throws -> [Bool] {
            try await store.responses.lookup(try cacheKey("/kept")).map(\.head.isInvalidated)
        }

        /// Mutants: `held-purges-count-as-durable`, `lost-purges-are-not-reported`.
        @Test func purgeThatIsNotWrittenIsReported() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let store = try await openFull(disk)
            try #require(!store.isReadOnly, "closing left no log that can be opened without space")
            for keeps in [true, false, false] {
                let held = try await store.invalidate([.all], keepingForOffline: keeps)
                #expect(!held.isDurable)
            }
            #expect(try await isInvalidated(store) == [])
            try await store.close()
            let end = try #require(log.lines.last { $0.contains("repeat the purges") }, "\(log.lines)")
            #expect(end.contains("store.invalidations.unwritten=3") && end.contains("store.removals.unwritten=2"))

            disk.free()
            let again = try await open(disk)
            let start = try #require(log.lines.last, "no line")
            #expect(start.contains("repeat purges that removed responses"), "\(start)")
            #expect(start.contains("store.invalidations.lost=3"), "\(start)")
            // The response is back, as an offline copy. Repeating the purge removes it.
            #expect(try await isInvalidated(again) == [true])
            let repeated = try await again.invalidate([.all], keepingForOffline: false)
            #expect(repeated.isDurable)
            #expect(try await isInvalidated(again) == [])
            try await again.close()
        }

        /// Mutant: `full-disk-at-opening-is-usable`.
        @Test(arguments: [false, true]) func conditionFollowsTheDisk(holdsAPurge: Bool) async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let store = try await openFull(disk)
            try #require(!store.isReadOnly, "closing left no log that can be opened without space")
            #expect(log.lines.contains { $0.hasPrefix("the store's disk is full") }, "\(log.lines)")
            #expect(await store.storeCondition() == .full)
            if holdsAPurge {
                let held = try await store.invalidate([.tag("none")], keepingForOffline: true)
                #expect(!held.isDurable)
                #expect(await store.storeCondition() == .full)
            }
            disk.free()
            #expect(await store.storeCondition() == .usable)
            try await store.close()
        }

        /// Otherwise, nothing would remove its responses.
        ///
        /// Mutant: `a-removal-in-memory-ends-a-recording`.
        @Test func recordingWhoseResponsesCannotBeRemovedStaysMarked() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let store = try await open(disk)
            let name = try #require(JobName("deps"))
            let partition = try #require(JobPartition(String(repeating: "a", count: 32)))
            let now = clock.now()
            try await store.beginRecording(name, in: partition, at: now)
            try await store.close()
            for ending in ["-wal", "-shm"] { unlink(disk.path + "/store/0001.sqlite" + ending) }
            disk.fill()
            let full = try await open(disk)
            try #require(full.isReadOnly)
            await #expect(throws: StoreError.self) { try await full.discardRecording(name, in: partition, at: now) }
            #expect(try full.jobs.marked == [name])
            try await full.close()
        }

        /// Without the log and its index, nothing can be opened for writing.
        @Test func storeThatIsOnlyReadSaysThatItsDiskWasFull() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let store = try await open(disk)
            try await store.store(draft(try cacheKey("/kept"), at: clock.now()), "kept")
            try await store.close()
            for ending in ["-wal", "-shm"] { unlink(disk.path + "/store/0001.sqlite" + ending) }
            disk.fill()
            let full = try await open(disk)
            try #require(full.isReadOnly)
            #expect(await full.storeCondition() == .readOnlyOnFullDisk)
            #expect(full.core.readOnlyError.message.contains("because its disk was full. Free some space"))
            let held = try await full.invalidate([.all], keepingForOffline: false)
            #expect(!held.isDurable)
            try await full.close()
            #expect(log.lines.last?.contains("store.removals.unwritten=1") == true, "\(log.lines)")
        }
    }
#endif
