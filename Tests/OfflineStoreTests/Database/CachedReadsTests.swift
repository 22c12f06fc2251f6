import CProcess
import CSQLite
import HTTPCache
import HTTPCacheSemantics
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import OfflineStore
@testable import StoreFiles

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Lookups on a thread that must not wait. They read from disk what the kernel has in memory.
@Suite(.timeLimit(.minutes(20)), .enabled(if: PageCache.isKnown)) struct CachedReadsTests {
    let folder: TemporaryFolder
    let clock = ManualClock()
    private var database: String { folder.store + "/0001.sqlite" }

    init() throws { folder = try TemporaryFolder() }

    private func key(_ number: Int) throws -> StoreKey { try cacheKey("/\(number)") }
    private func body(_ number: Int, _ length: Int) -> ByteBuffer { pattern(length, seed: UInt64(number) << 32) }

    /// Opens a store without a memory tier that already holds responses.
    private func openFilled(_ count: Int, length: Int = 8000, tags: [String] = []) async throws -> CacheManager {
        let store = try await openWithoutMemory()
        for number in 0..<count {
            try await store.store(draft(try key(number), at: clock.now(), tags: tags), [body(number, length)])
        }
        try await store.close()
        return try await openWithoutMemory()
    }

    private func openWithoutMemory() async throws -> CacheManager {
        try await openStore(folder.store, clock: clock) { $0.memoryBudget = 0 }
    }

    /// Looks up a key at once, after a lookup that may wait has taken a snapshot.
    ///
    /// Housekeeping may commit in between, so this tries again a few times.
    private func lookUpAtOnce(_ key: StoreKey, in store: CacheManager) throws -> [StoredResponse]? {
        let blocking = try #require(store.responses.blockingLookup)
        let immediate = try #require(store.responses.immediateLookup)
        for _ in 0..<100 {
            _ = try blocking(key)
            if let found = immediate(key) { return found }
        }
        return nil
    }

    /// Takes a snapshot by reading something else, so that only what `immediate` needs is missing.
    private func takeSnapshot(_ store: CacheManager) throws {
        for _ in 0..<100 {
            try store.core.read { connection, _ in _ = try connection.integer("SELECT id FROM store") }
            if hasSnapshot(store) { return }
        }
        throw TestFailure("There is no snapshot.")
    }

    private func hasSnapshot(_ store: CacheManager) -> Bool {
        (try? store.core.database())?.readers.readAtOnce { _ in true } ?? false
    }

    @Test(arguments: [[], ["a", "b"]]) func findsTheSameAsALookupThatMayWait(_ tags: [String]) async throws {
        let store = try await openFilled(60, tags: tags)
        for number in 0..<60 {
            let key = try key(number)
            let found = try lookUpAtOnce(key, in: store)
            #expect(found?.count == 1)
            #expect(found?.first?.content?.body == body(number, 8000))
            let expected = try await store.responses.lookup(key)
            #expect(found == expected)
        }
        let none = try lookUpAtOnce(try cacheKey("/none"), in: store)
        #expect(none?.isEmpty == true)
        try await store.close()
    }

    /// Mutant: `mayWait` that has no effect.
    @Test func doesNotWaitForPagesThatAreNotInMemory() async throws {
        let store = try await openFilled(200)
        let pages = try PageCache(database)
        let immediate = try #require(store.responses.immediateLookup)
        let key = try key(150)
        try takeSnapshot(store)
        try pages.drop()
        #expect(immediate(key) == nil)
        // The failed read has ended the transaction, so that it does not hold the log.
        #expect(!hasSnapshot(store))
        let read = try await store.responses.lookup(key)
        #expect(read.first?.content?.body == body(150, 8000))
        let again = try lookUpAtOnce(key, in: store)
        #expect(again == read)
        try await store.close()
        pages.close()
    }

    /// Mutant: `hasSnapshot` that does not compare the number of commits.
    @Test func findsNothingOlderThanTheLastCommit() async throws {
        let store = try await openFilled(1)
        let immediate = try #require(store.responses.immediateLookup)
        let key = try key(0)
        var found = 0
        for round in 1...100 {
            _ = try await store.responses.lookup(key)
            try await store.store(draft(key, at: clock.now()), [body(round, 8000)])
            if let response = immediate(key)?.first { #expect(response.content?.body == body(round, 8000)) }
            if let response = try lookUpAtOnce(key, in: store)?.first {
                #expect(response.content?.body == body(round, 8000))
                found += 1
            }
        }
        #expect(found > 0)
        try await store.close()
    }

    @Test func returnsWhileAllConnectionsAreBusy() async throws {
        let store = try await openFilled(2)
        let immediate = try #require(store.responses.immediateLookup)
        let key = try key(1)
        let before = try lookUpAtOnce(key, in: store)
        let during = try store.core.read { _, _ in try store.core.read { _, _ in immediate(key) } }
        let after = try lookUpAtOnce(key, in: store)
        #expect(before?.count == 1)
        #expect(during == nil)
        #expect(after == before)
        try await store.close()
    }

    /// Mutant: `responses(of:hash:)` that reads long bodies on any thread.
    @Test(arguments: [(64 << 10, true), ((64 << 10) + 1, false), (250_000, false)])
    func leavesLongBodiesToThreadsThatMayWait(_ length: Int, _ isRead: Bool) async throws {
        let store = try await openFilled(1, length: length)
        let found = try lookUpAtOnce(try key(0), in: store)
        #expect((found != nil) == isRead)
        let expected = try await store.responses.lookup(try key(0))
        #expect(expected.first?.bodyLength == Int64(length))
        try await store.close()
    }

    /// Mutant: `noteDamage` that reports on any thread.
    @Test(arguments: ["UPDATE chunk SET data = zeroblob(8000)", "UPDATE entry SET head = zeroblob(length(head))"])
    func leavesDamageToThreadsThatMayWait(_ damage: String) async throws {
        let store = try await openFilled(1)
        try await store.close()
        try runSQL(database, damage)
        let opened = try await openWithoutMemory()
        let immediate = try #require(opened.responses.immediateLookup)
        let key = try key(0)
        for _ in 0..<20 {
            try takeSnapshot(opened)
            #expect(immediate(key) == nil)
        }
        #expect(opened.core.counters.damagedReads.load(ordering: .relaxed) == 0)
        let found = try await opened.responses.lookup(key)
        #expect(found.isEmpty)
        #expect(opened.core.counters.damagedReads.load(ordering: .relaxed) == 1)
        try await opened.close()
    }

    /// Readers that never pause, while the writer commits and copies its log into the database.
    @Test func findsWholeBodiesDuringCheckpoints() async throws {
        let keys = 40
        let store = try await openStore(folder.store, clock: clock) {
            $0.memoryBudget = 0
            $0.checkpointThreshold = 1 << 20
        }
        let immediate = try #require(store.responses.immediateLookup)
        // A body begins with its number in every round.
        func content(_ number: Int, _ round: Int) -> ByteBuffer { body(number << 16 | round, 8000) }
        for number in 0..<keys { try await store.store(draft(try key(number), at: clock.now()), [content(number, 0)]) }
        let progress = Progress()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for reader in 0..<30 {
                group.addTask {
                    var number = reader
                    while progress.isWriting.load(ordering: .relaxed) {
                        number = (number &* 7 &+ 3) % keys
                        let key = try cacheKey("/\(number)")
                        if let response = immediate(key)?.first {
                            let body = try #require(response.content?.body)
                            let seed = try #require(body.getInteger(at: body.readerIndex, as: UInt64.self))
                            #expect(Int(seed >> 48) == number)
                            #expect(body == pattern(8000, seed: seed))
                            progress.found.add(1, ordering: .relaxed)
                        } else {
                            _ = try await store.responses.lookup(key)
                        }
                        await Task.yield()
                    }
                }
            }
            for round in 1...15 {
                for number in 0..<keys {
                    try await store.store(draft(try key(number), at: clock.now()), [content(number, round)])
                }
                await Task.yield()
            }
            while progress.found.load(ordering: .relaxed) == 0, !Task.isCancelled { await Task.yield() }
            progress.isWriting.store(false, ordering: .relaxed)
            try await group.waitForAll()
        }
        for number in 0..<keys {
            let found = try await store.responses.lookup(try key(number))
            #expect(found.first?.content?.body == content(number, 15))
        }
        try await store.close()
    }

    /// Closing any descriptor of the files would release the locks that SQLite holds on them.
    @Test func opensAndClosesNoDescriptor() async throws {
        let store = try await openFilled(30)
        let before = PageCache.descriptors(of: database)
        for number in 0..<30 {
            let found = try lookUpAtOnce(try key(number), in: store)
            #expect(found != nil)
        }
        #expect(PageCache.descriptors(of: database) == before)
        #expect(!before.isEmpty)
        try await store.close()
        #expect(PageCache.descriptors(of: database).isEmpty)
    }

    @Test func readOnlyStoresHaveNoSuchLookups() async throws {
        let store = try await openFilled(1)
        let guest = try await openReadOnly(folder.store, clock: clock)
        #expect(guest.responses.immediateLookup == nil)
        try await guest.close()
        try await store.close()
    }
}

/// The progress that the tasks of a test share.
private final class Progress: Sendable {
    let isWriting = Atomic(true)
    let found = Atomic(0)
}

/// The kernel's memory of a file's pages.
private struct PageCache {
    private let descriptor: Int32

    /// Opens a file. Do not close it while a store has it open in this process: that releases the
    /// store's locks.
    init(_ path: String) throws {
        descriptor = open(path, O_RDONLY)
        if descriptor < 0 { throw TestFailure("open \(path): \(errno)") }
    }

    /// Makes the kernel forget the file's pages, which are on disk.
    func drop() throws {
        #if canImport(Darwin)
            throw TestFailure("There is no such call.")
        #else
            guard fdatasync(descriptor) == 0, posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) == 0 else {
                throw TestFailure("posix_fadvise: \(errno)")
            }
        #endif
    }

    /// Whether the first byte of the file can be read without waiting.
    private var isWarm: Bool {
        var byte: UInt8 = 0
        return cprocess_readCached(descriptor, &byte, 1, 0) == 1
    }

    func close() { _ = shutDescriptor(descriptor) }

    /// Whether the folder of the tests is on a file system that says what the kernel has in memory.
    static let isKnown: Bool = {
        guard let folder = try? TemporaryFolder() else { return false }
        let path = folder.path + "/pages"
        guard (try? writeFile(path, [UInt8](repeating: 1, count: 1 << 16))) != nil,
            let pages = try? PageCache(path)
        else { return false }
        defer { pages.close() }
        guard pages.isWarm, (try? pages.drop()) != nil else { return false }
        return !pages.isWarm
    }()

    /// The descriptors of this process that are open on a database, its log and the log's index.
    static func descriptors(of database: String) -> Set<String> {
        var found: Set<String> = []
        for name in TemporaryFolder.names("/proc/self/fd") {
            var target = [CChar](repeating: 0, count: 4096)
            guard readlink("/proc/self/fd/" + name, &target, target.count - 1) > 0 else { continue }
            let path = target.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } } ?? ""
            if path.hasPrefix(database) { found.insert(name + " " + path) }
        }
        return found
    }
}

private func shutDescriptor(_ descriptor: Int32) -> Int32 { close(descriptor) }
