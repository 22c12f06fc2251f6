import FaultWorkload
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import NIOCore
import TestSupport
import Testing

@testable import OfflineStore
@testable import StoreMemory

#if os(Linux)
    import Glibc

    @Suite(.timeLimit(.minutes(20)), .enabled(if: SmallDisk.isPossible, "this process may not mount a file system"))
    struct FullDiskTests {
        let folder: TemporaryFolder
        let clock = ManualClock()

        init() throws { folder = try TemporaryFolder() }

        @Test func fullDiskFailsOnlyWritesAndRecovers() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let store = try await openStore(disk.path + "/store", clock: clock)
            let key = try cacheKey("/kept")
            try await store.store(draft(key, at: clock.now()), [pattern(100_000)])
            try await store.setObject(1, forKey: "n")
            let sequence = store.responses.invalidationSequence
            #expect(disk.fill() > 0)

            var failures = 0
            for index in 0..<20 {
                let code = await code {
                    try await store.store(draft(try cacheKey("/\(index)"), at: clock.now()), [pattern(900_000)])
                }
                if code != nil { failures += 1 }
                #expect(code == nil || code == .full || code == .io)
                #expect(try await store.text(of: key) != nil)
                #expect(try await store.object(Int.self, forKey: "n") == 1)
            }
            #expect(failures > 0)
            let failed = await code { try await store.setObject(String(repeating: "x", count: 500_000), forKey: "n2") }
            #expect(failed == .full || failed == .io)
            #expect(store.responses.invalidationSequence >= sequence)

            disk.free()
            try await store.setObject(String(repeating: "x", count: 500_000), forKey: "n2")
            try await store.responses.invalidate(.key(key), keepingForOffline: true, at: clock.now())
            #expect(try await store.responses.lookup(key).map(\.head.isInvalidated) == [true])
            #expect(try await store.statistics().setAside.isEmpty)
            try await store.settle()
            try await store.close()
            let again = try await openStore(disk.path + "/store", clock: clock)
            #expect(try await again.object(String.self, forKey: "n2")?.count == 500_000)
            try await again.close()
        }

        @Test func creatingAStoreOnAFullDiskFails() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            mkdir(disk.path + "/store", 0o700)
            disk.fill()
            let code = await code { _ = try await openStore(disk.path + "/store", clock: clock) }
            #expect(code == .full || code == .io)
            disk.free()
            let store = try await openStore(disk.path + "/store", clock: clock)
            try await store.setObject(1, forKey: "n")
            try await store.close()
        }

        /// Once the disk refused a write, new responses are declined at first: no client hears that
        /// they are stored.
        @Test func storeOutOfSpaceDeclinesResponsesAndRecovers() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let store = try await openStore(disk.path + "/store", clock: clock)
            disk.fill()
            func put(_ index: Int) async throws -> Bool? {
                let draft = draft(try cacheKey("/\(index)"), at: clock.now())
                let writer = try await store.responses.beginWrite(
                    draft,
                    fencingNumber: store.responses.invalidationSequence
                )
                guard let writer else { return nil }
                do {
                    try await writer.append(pattern(300_000))
                    return try await writer.finish() != nil
                } catch { return false }
            }
            var outcomes: [Bool?] = []
            for index in 0..<60 {
                outcomes.append(try await put(index))
                clock.advance(by: .milliseconds(500))
            }
            #expect(outcomes.filter { $0 == false }.count <= 2, "accepted and then not stored: \(outcomes)")
            #expect(outcomes.filter { $0 == nil }.count > 40, "\(outcomes)")
            #expect(await store.storeCondition() == .full)
            await (try store.core.database()).writer?.settle()
            disk.free()
            #expect(try await put(100) == true)
            let condition = await store.storeCondition()
            // Depending on what was stored before, the disk may have so little room that entries
            // are evicted for new ones.
            #expect(condition == .usable || condition == .evicting)
            try await store.close()
        }

        /// Remounting fails while a file there is open for writing. A closed store releases its
        /// files with its last reference.
        private func remountReadOnly(_ disk: SmallDisk) async throws {
            var failure: Int32 = EBUSY
            for _ in 0..<200_000 where failure == EBUSY {
                let status = mount("tmpfs", disk.path, nil, UInt(MS_REMOUNT | MS_RDONLY), nil)
                failure = status == 0 ? 0 : errno
                await Task.yield()
            }
            try #require(failure == 0, "this process may mount, and not remount")
        }

        /// Reads the log after a proper close, after a killed process, and without the log's index.
        @Test func readsTheLogOnAReadOnlyFileSystem() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let path = disk.path + "/closed"
            let behind = disk.path + "/behind"
            let (killed, unindexed) = (disk.path + "/killed", disk.path + "/unindexed")
            func fill() async throws {
                let store = try await openStore(path, clock: clock)
                try await store.store(draft(try cacheKey("/old"), at: clock.now(), tags: ["t"]), "old")
                try await store.settle()
                try withWriterStopped(path + "/0001.sqlite") { try copyFolder(path, to: behind) }
                try await store.setObject(1, forKey: "n")
                try await store.store(draft(try cacheKey("/new"), at: clock.now()), [pattern(200_000)])
                try withWriterStopped(path + "/0001.sqlite") {
                    for copy in [killed, unindexed] { try copyFolder(path, to: copy) }
                    try writeFile(killed + "/0001.sqlite-shm", readFile(path + "/0001.sqlite-shm"))
                }
                try await store.responses.invalidate(.tag("none"), keepingForOffline: true, at: clock.now())
                try await store.close()
            }
            try await fill()
            try writeFile(behind + "/sequence", readFile(path + "/sequence"))
            #expect(fileSize(killed + "/0001.sqlite-wal") > 200_000)
            #expect(fileSize(unindexed + "/0001.sqlite-wal") > 200_000)
            try await remountReadOnly(disk)

            for copy in [path, killed, unindexed] {
                let before = try fingerprint(copy)
                for store in [try await openReadOnly(copy, clock: clock), try await openStore(copy, clock: clock)] {
                    #expect(store.isReadOnly, "\(copy)")
                    #expect(try await store.statistics().isReadOnly)
                    #expect(try await store.text(of: try cacheKey("/old")) == "old")
                    let new = try #require(try await store.responses.lookup(try cacheKey("/new")).first, "\(copy)")
                    #expect(!new.head.isInvalidated)
                    let body = try await store.responses.openBody(of: new)?.collect(upTo: 1 << 20)
                    #expect(body == pattern(200_000))
                    #expect(try await store.object(Int.self, forKey: "n") == 1)
                    #expect(await code { try await store.setObject(2, forKey: "n") } == .readOnly)
                    let draft = draft(try cacheKey("/x"), at: clock.now())
                    #expect(try await store.store(draft, "x") == nil)
                    try await store.close()
                }
                #expect(try fingerprint(copy) == before, "\(copy)")
            }
            // A store that may have lost invalidations is not trusted: without the sidecar, a loss
            // would be unnoticed.
            let distrusted = try await openStore(behind, clock: clock)
            #expect(
                try await distrusted.responses.lookup(try cacheKey("/old")).map(\.head.invalidation) == [.unspecified]
            )
            try await distrusted.close()
        }

        /// There is no writer to record them, but they are in force in this process.
        @Test func invalidationsOfAnUnwritableStoreAreInForce() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let path = disk.path + "/store"
            func fill() async throws {
                let writer = try await openStore(path, clock: clock)
                for name in ["key", "target", "prefix/1", "tag", "removed", "other"] {
                    try await writer.store(draft(try cacheKey("/\(name)"), at: clock.now(), tags: [name]), name)
                }
                try await writer.close()
            }
            try await fill()
            try await remountReadOnly(disk)
            let store = try await openStore(path, clock: clock)
            func causes(_ name: String) async throws -> [InvalidationCause?] {
                try await store.responses.lookup(try cacheKey("/\(name)")).map(\.head.invalidation)
            }
            let (responses, now) = (store.responses, clock.now())
            let first = try await responses.invalidate(.key(try cacheKey("/key")), .mark(.unspecified), at: now)
            try await responses.invalidate(
                .target(try TargetURI("https://api.example/target")),
                .mark(.unsafeMethod),
                at: now
            )
            try await responses.invalidate(
                .prefix(try TargetPrefix("https://api.example/prefix/")),
                .mark(.unspecified),
                at: now
            )
            try await responses.invalidate(.tag("tag"), .mark(.unsafeMethod), at: now)
            let last = try await responses.invalidate(.tag("removed"), .remove, at: now)
            #expect(last > first && responses.invalidationSequence == last)
            #expect(try await causes("key") == [.unspecified])
            #expect(try await causes("target") == [.unsafeMethod])
            #expect(try await causes("prefix/1") == [.unspecified])
            #expect(try await causes("tag") == [.unsafeMethod])
            #expect(try await causes("removed") == [])
            #expect(try await causes("other") == [nil])
            // They are limited: beyond that, those that mark become one of everything, as strong as
            // the strongest. Nothing is removed that was only to be marked.
            for index in 0...UnwrittenInvalidations.broadLimit {
                let prefix = try TargetPrefix("https://api.example/none-\(index)/")
                try await responses.invalidate(.prefix(prefix), .mark(.unsafeMethod), at: now)
            }
            #expect(try await causes("other") == [.unsafeMethod])
            #expect(try await causes("key") == [.unsafeMethod])
            #expect(try await causes("removed") == [])
            try await store.close()
        }
    }
#endif
