import HTTPCache
import HTTPCacheSemantics
import NIOCore
import OfflineStore
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The files of an open store, copied at some moment, are what a killed process leaves.
@Suite(.timeLimit(.minutes(20))) struct CrashTests {
    let folder: TemporaryFolder
    let clock = ManualClock()
    var copy: String { folder.path + "/copy" }

    init() throws { folder = try TemporaryFolder() }

    @Test func acknowledgedEntriesSurviveACrash() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.setObject(1, forKey: "n")
        try await store.store(draft(try cacheKey("/x"), at: clock.now()), [pattern(300_000)])
        try await store.responses.invalidate(.key(try cacheKey("/x")), keepingForOffline: true, at: clock.now())
        try copyFolder(folder.store, to: copy)
        let crashed = try await openStore(copy, clock: clock)
        #expect(try await crashed.object(Int.self, forKey: "n") == 1)
        let found = try await crashed.responses.lookup(try cacheKey("/x"))
        #expect(found.map(\.head.isInvalidated) == [true])
        #expect(try await crashed.responses.openBody(of: found[0])?.collect(upTo: 300_000) == pattern(300_000))
        #expect(crashed.responses.invalidationSequence.number == 1)
        try await crashed.close()
        try await store.close()
    }

    @Test func halfWrittenBodyIsSweptAndNeverVisible() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/half")
        let writer = try #require(
            try await store.responses.beginWrite(
                draft(key, at: clock.now()),
                fencingNumber: store.responses.invalidationSequence
            )
        )
        try await writer.append(pattern(6 << 20))
        try copyFolder(folder.store, to: copy)
        #expect(try queryInteger(copy + "/0001.sqlite", "SELECT count(*) FROM chunk") > 0)
        let crashed = try await openStore(copy, clock: clock)
        #expect(try await crashed.responses.lookup(key).isEmpty)
        try await crashed.settle()
        let statistics = try await crashed.statistics()
        #expect(statistics.responses == 0 && statistics.unreferencedBodies == 0)
        try await crashed.close()
        #expect(try queryInteger(copy + "/0001.sqlite", "SELECT count(*) FROM chunk") == 0)
        #expect(fileSize(copy + "/0001.sqlite") < 1 << 20)
        #expect(try await writer.finish() != nil)
        try await store.close()
    }

    @Test func entryNumbersAreNeverReused() async throws {
        let store = try await openStore(folder.store, clock: clock)
        var last: Int64 = 0
        for _ in 0..<3 {
            last = try #require(try await store.store(draft(try cacheKey("/x"), at: clock.now()), "x")).id
        }
        try await store.removeAll()
        try copyFolder(folder.store, to: copy)
        try await store.close()
        for path in [folder.store, copy] {
            let again = try await openStore(path, clock: clock)
            let next = try #require(try await again.store(draft(try cacheKey("/x"), at: clock.now()), "x"))
            #expect(next.id > last)
            try await again.close()
        }
    }

    @Test func databaseBehindItsSidecarIsDistrusted() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.store(draft(try cacheKey("/x"), at: clock.now()), "x")
        try await store.setObject(1, forKey: "n")
        mkdir(copy, 0o700)
        for name in ["0001.sqlite", "0001.sqlite-wal", "CURRENT"] {
            try writeFile(copy + "/" + name, readFile(folder.store + "/" + name))
        }
        for _ in 0..<5 {
            try await store.responses.invalidate(.key(try cacheKey("/x")), keepingForOffline: false, at: clock.now())
        }
        try await store.close()
        try writeFile(copy + "/sequence", readFile(folder.store + "/sequence"))

        let behind = try await openStore(copy, clock: clock)
        #expect(behind.responses.invalidationSequence.number == 6)
        #expect(try await behind.responses.lookup(try cacheKey("/x")).map(\.head.isInvalidated) == [true])
        #expect(try await behind.text(of: try cacheKey("/x")) == "x")
        #expect(try await behind.object(Int.self, forKey: "n") == nil)
        #expect(try await behind.storedObject(Int.self, forKey: "n")?.isExpired == true)
        let lost = InvalidationSequence(3)
        #expect(try await behind.store(draft(try cacheKey("/y"), at: clock.now()), "y", fencingNumber: lost) == nil)
        try await behind.close()
        let again = try await openStore(copy, clock: clock)
        #expect(again.responses.invalidationSequence.number == 6)
        try await again.close()
    }

    /// A log that loses its tail brings a removed object back; it must not be live.
    @Test func removedObjectIsNotLiveInADatabaseThatIsBehind() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.setObject(1, forKey: "n")
        #expect(try await store.removeObject(forKey: "other") == false)
        #expect(store.responses.invalidationSequence.number == 0)
        mkdir(copy, 0o700)
        for name in ["0001.sqlite", "0001.sqlite-wal", "CURRENT"] {
            try writeFile(copy + "/" + name, readFile(folder.store + "/" + name))
        }
        #expect(try await store.removeObject(forKey: "n"))
        #expect(store.responses.invalidationSequence.number == 1)
        try await store.close()
        try writeFile(copy + "/sequence", readFile(folder.store + "/sequence"))
        let behind = try await openStore(copy, clock: clock)
        #expect(try await behind.object(Int.self, forKey: "n") == nil)
        try await behind.close()
    }

    @Test(arguments: ["missing", "empty", "flipped"])
    func storeWithoutAValidSidecarIsDistrusted(_ how: String) async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.responses.invalidate(.all, keepingForOffline: true, at: clock.now())
        try await store.responses.invalidate(.all, keepingForOffline: true, at: clock.now())
        try await store.store(draft(try cacheKey("/x"), at: clock.now()), "x")
        try await store.close()
        let path = folder.store + "/sequence"
        switch how {
        case "missing": unlink(path)
        case "empty": try writeFile(path, [])
        default:
            try writeFile(path, [0xff], at: 9)
            try writeFile(path, [0xff], at: 4096 + 9)
        }
        let again = try await openStore(folder.store, clock: clock)
        #expect(again.responses.invalidationSequence.number == 3)
        #expect(try await again.responses.lookup(try cacheKey("/x")).map(\.head.isInvalidated) == [true])
        try await again.close()
        let third = try await openStore(folder.store, clock: clock)
        #expect(third.responses.invalidationSequence.number == 3)
        try await third.close()
    }

    @Test func oneTornSidecarSlotDoesNoHarm() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for _ in 0..<2 {
            try await store.responses.invalidate(.key(try cacheKey("/y")), keepingForOffline: true, at: clock.now())
        }
        try await store.store(draft(try cacheKey("/x"), at: clock.now()), "x")
        try await store.close()
        // The older slot, with number 1.
        try writeFile(folder.store + "/sequence", [0xff], at: 4096 + 9)
        let again = try await openStore(folder.store, clock: clock)
        #expect(again.responses.invalidationSequence.number == 2)
        #expect(try await again.responses.lookup(try cacheKey("/x")).map(\.head.isInvalidated) == [false])
        try await again.close()
    }
}
