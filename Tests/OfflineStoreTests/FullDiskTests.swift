import FaultWorkload
import HTTPCache
import HTTPCacheSemantics
import NIOCore
import OfflineStore
import Testing

#if os(Linux)
    import Glibc

    @Suite(.enabled(if: SmallDisk.isPossible, "this process may not mount a file system"))
    struct FullDiskTests {
        let folder: TemporaryFolder
        let clock = ManualClock()

        init() throws { folder = try TemporaryFolder() }

        @Test func aFullDiskFailsWritesAloneAndHeals() async throws {
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

        @Test func aStoreCannotBeMadeOnAFullDisk() async throws {
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

        @Test func aReadOnlyFileSystemIsReadWhereTheLogIsEmpty() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let path = disk.path + "/store"
            let store = try await openStore(path, clock: clock)
            try await store.setObject(1, forKey: "n")
            let copy = disk.path + "/copy"
            try copyFolder(path, to: copy)
            try await store.close()
            unlink(path + "/0001.sqlite-shm")
            guard mount("tmpfs", disk.path, nil, UInt(MS_REMOUNT | MS_RDONLY), nil) == 0 else {
                return
            }
            let reader = try await openReadOnly(path, clock: clock)
            #expect(try await reader.object(Int.self, forKey: "n") == 1)
            try await reader.close()
            #expect(await code { _ = try await openReadOnly(copy, clock: clock) } == .unwritable)
            #expect(await code { _ = try await openStore(path, clock: clock) } == .unwritable)
        }
    }
#endif
