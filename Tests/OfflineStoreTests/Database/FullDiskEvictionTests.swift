import CSQLite
import FaultWorkload
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import TestSupport
import Testing

@testable import OfflineStore
@testable import StoreFiles

#if os(Linux)
    import Glibc

    /// A store that in-flight fetches its disk, or whose disk others in-flight fetch, continues
    /// with the space it has.
    @Suite(.timeLimit(.minutes(20)), .enabled(if: SmallDisk.isPossible, "this process may not mount a file system"))
    struct FullDiskEvictionTests {
        let folder: TemporaryFolder
        let clock = ManualClock()

        init() throws { folder = try TemporaryFolder() }

        /// The result of storing like the engine: declined at first, stored, or failed after it was
        /// accepted.
        private enum Outcome: Equatable { case declined, stored, failed(String) }

        private func put(_ name: String, _ count: Int, in store: CacheManager) async throws -> Outcome {
            let draft = draft(
                try cacheKey(name),
                at: clock.now(),
                expectedLength: StatedLength(clamping: count),
                tags: ["t"]
            )
            let fencingNumber = store.responses.invalidationSequence
            guard let writer = try await store.responses.beginWrite(draft, fencingNumber: fencingNumber) else {
                return .declined
            }
            do {
                try await writer.append(pattern(count, seed: UInt64(name.utf8.count)))
                return try await writer.finish() == nil ? .failed("invalidated") : .stored
            } catch { return .failed("\(error)") }
        }

        private func isThere(_ name: String, _ count: Int, in store: CacheManager) async throws -> Bool {
            guard let response = try await store.responses.lookup(try cacheKey(name)).first else { return false }
            let body = try await store.responses.openBody(of: response)?.collect(upTo: 1 << 24)
            #expect(body == pattern(count, seed: UInt64(name.utf8.count)), "\(name)")
            return true
        }

        /// The budget exceeds the disk: the disk's size acts as the budget.
        @Test(arguments: [3000, 50_000, 200_000])
        func storesNewEntriesWhenTheBudgetExceedsTheDisk(length: Int) async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let path = disk.path + "/store"
            var store = try await openStore(path, clock: clock, budget: 64 << 20) { $0.memoryBudget = 0 }
            let count = 14_000_000 / length
            var lost: [Int] = []
            for index in 0..<count {
                clock.advance(by: .milliseconds(10))
                let outcome = try await put("/\(index)", length, in: store)
                if try await isThere("/\(index)", length, in: store) != (outcome == .stored) {
                    Issue.record("\(index) is said to be \(outcome)")
                }
                if outcome != .stored { lost.append(index) }
            }
            #expect(lost.count <= 2, "not stored: \(lost)")
            let statistics = try await store.statistics()
            #expect(statistics.evictedEntries > 0 && statistics.setAside.isEmpty)
            #expect(await store.storeCondition() == .evicting)
            // The newest are there, as many as the disk has space for. Entries of equal worth may
            // leave out of order.
            let newest = max(1, 1_000_000 / length)
            var gone: [Int] = []
            for index in (count - newest)..<count where !lost.contains(index) {
                if try await !isThere("/\(index)", length, in: store) { gone.append(index) }
            }
            #expect(gone.count <= newest / 10, "\(gone)")
            #expect(statistics.storedBytes > 1_500_000, "\(statistics.storedBytes)")
            try await store.close()
            #expect(DatabaseAudit.findings(path + "/0001.sqlite") == [])
            store = try await openStore(path, clock: clock, budget: 64 << 20)
            #expect(try await isThere("/\(count - 1)", length, in: store))
            #expect(try await put("/after", length, in: store) == .stored)
            try await store.close()
        }

        /// A reader holds the log back while the disk in-flight fetches. Later the log gives its
        /// space back.
        @Test func logThatAReaderHeldBackGivesItsSpaceBack() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let path = disk.path + "/store"
            let store = try await openStore(path, clock: clock, budget: 64 << 20) { $0.memoryBudget = 0 }
            #expect(try await put("/first", 3000, in: store) == .stored)
            var reader: OpaquePointer?
            try #require(sqlite3_open_v2(path + "/0001.sqlite", &reader, SQLITE_OPEN_READONLY, nil) == SQLITE_OK)
            #expect(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM entry", nil, nil, nil) == SQLITE_OK)
            var count = 0
            while let log = try FileStatus(path: path + "/0001.sqlite-wal")?.size, log < 6_000_000, count < 4000 {
                clock.advance(by: .milliseconds(10))
                #expect(try await put("/\(count)", 3000, in: store) == .stored)
                count += 1
            }
            #expect(sqlite3_exec(reader, "COMMIT", nil, nil, nil) == SQLITE_OK)
            #expect(sqlite3_close(reader) == SQLITE_OK)
            for index in count..<(count + 2000) {
                clock.advance(by: .milliseconds(10))
                _ = try await put("/\(index)", 3000, in: store)
            }
            #expect(try await store.statistics().storedBytes > 2_000_000)
            for index in (count + 1800)..<(count + 2000) { #expect(try await isThere("/\(index)", 3000, in: store)) }
            try await store.close()
            #expect(DatabaseAudit.findings(path + "/0001.sqlite") == [])
        }

        /// Others in-flight fetch the disk while the store is open: hits continue, and new entries
        /// replace old ones.
        @Test func storesNewEntriesWhileOthersFillTheDisk() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let store = try await openStore(disk.path + "/store", clock: clock, budget: 64 << 20) {
                $0.memoryBudget = 0
            }
            for index in 0..<60 { #expect(try await put("/old-\(index)", 40_000, in: store) == .stored) }
            try await store.setObject("mine", forKey: "n")
            #expect(disk.fill() > 0)
            var lost: [Int] = []
            for index in 0..<100 {
                clock.advance(by: .milliseconds(100))
                // Used entries stay, because this eviction goes by use too.
                #expect(try await isThere("/old-59", 40_000, in: store))
                #expect(try await store.object(String.self, forKey: "n") == "mine")
                if try await put("/new-\(index)", 40_000, in: store) != .stored { lost.append(index) }
            }
            #expect(lost.count <= 2, "not stored: \(lost)")
            for index in 90..<100 where !lost.contains(index) {
                #expect(try await isThere("/new-\(index)", 40_000, in: store))
            }
            #expect(try await isThere("/old-0", 40_000, in: store) == false)
            // An invalidation is in force, and stays so in the next process.
            try await store.responses.invalidate(
                .key(try cacheKey("/old-59")),
                keepingForOffline: true,
                at: clock.now()
            )
            #expect(try await store.responses.lookup(try cacheKey("/old-59")).map(\.head.isInvalidated) == [true])
            try await store.close()
            let again = try await openStore(disk.path + "/store", clock: clock, budget: 64 << 20)
            #expect(try await again.responses.lookup(try cacheKey("/old-59")).map(\.head.isInvalidated) == [true])
            #expect(try await again.object(String.self, forKey: "n") == "mine")
            try await again.close()
            #expect(DatabaseAudit.findings(disk.path + "/store/0001.sqlite") == [])
        }

        /// Thirty concurrent writes are stored like one.
        @Test func thirtyWritersAreServedOnAFullDisk() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let store = try await openStore(disk.path + "/store", clock: clock, budget: 64 << 20)
            for index in 0..<80 { #expect(try await put("/old-\(index)", 40_000, in: store) == .stored) }
            disk.fill()
            let stored = try await withThrowingTaskGroup(of: Int.self) { group in
                for lane in 0..<30 {
                    group.addTask {
                        var stored = 0
                        for index in 0..<10 where try await put("/new-\(lane)-\(index)", 10_000, in: store) == .stored {
                            stored += 1
                        }
                        return stored
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(stored >= 290, "\(stored) of 300")
            try await store.settle()
            try await store.close()
            #expect(DatabaseAudit.findings(disk.path + "/store/0001.sqlite") == [])
        }

        /// Pinned entries stay, and a tag stays within its quota.
        @Test func pinsAndQuotasHoldOnAFullDisk() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let quota: Int64 = 1_500_000
            let store = try await openStore(disk.path + "/store", clock: clock, budget: 64 << 20) {
                $0.quotas = [.tag("t", bytes: quota)]
            }
            for index in 0..<20 {
                let response = RawResponse(status: .ok, body: pattern(40_000))
                try await store.setResponse(response, for: try cacheKey("/pinned-\(index)"), expiry: .never)
            }
            for try await entry in store.entries(.response) { #expect(try await store.setPinned(true, entry)) }
            for index in 0..<30 { _ = try await put("/old-\(index)", 40_000, in: store) }
            disk.fill()
            for index in 0..<100 {
                clock.advance(by: .milliseconds(100))
                _ = try await put("/new-\(index)", 40_000, in: store)
            }
            try await store.settle()
            for index in 0..<20 {
                #expect(try await store.response(for: try cacheKey("/pinned-\(index)")) != nil, "\(index)")
            }
            #expect(try await isThere("/new-99", 40_000, in: store))
            let path = disk.path + "/store/0001.sqlite"
            #expect(try queryInteger(path, "SELECT octets FROM tag") <= quota)
            try await store.close()
        }

        /// An entry that needs more than a quarter of the stored bytes evicts nothing. It is not
        /// stored, as before.
        @Test func entryTooLargeForTheDiskEvictsNothing() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let store = try await openStore(disk.path + "/store", clock: clock, budget: 64 << 20)
            for index in 0..<20 { #expect(try await put("/\(index)", 40_000, in: store) == .stored) }
            disk.fill()
            for index in 0..<20 {
                clock.advance(by: .seconds(30))
                #expect(try await put("/large-\(index)", 1_500_000, in: store) != .stored)
            }
            for index in 0..<20 { #expect(try await isThere("/\(index)", 40_000, in: store), "\(index)") }
            #expect(try await store.statistics().evictedEntries == 0)
            // A small one is stored all the same.
            #expect(try await put("/small", 10_000, in: store) == .stored)
            disk.free()
            #expect(try await put("/large", 1_500_000, in: store) == .stored)
            try await store.close()
        }
    }
#endif
