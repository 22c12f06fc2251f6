import HTTPCache
import HTTPCacheSemantics
import NIOCore
import TestSupport
import Testing

@testable import CacheEviction
@testable import OfflineStore

/// The policy of eviction in a store on disk. `CacheEvictionTests` tests it as a value.
@Suite(.timeLimit(.minutes(20))) struct StoreEvictionTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    private func open(_ change: (inout CacheManager.Configuration) -> Void = { _ in }) async throws -> CacheManager {
        try await openStore(folder.store, clock: clock, budget: 8 << 20, change)
    }

    private func isStored(_ name: String, in store: CacheManager) async throws -> Bool {
        try await store.responses.lookup(try cacheKey(name)).isEmpty == false
    }

    private func put(_ names: [String], _ length: Int, in store: CacheManager) async throws {
        for name in names { try await store.store(draft(try cacheKey(name), at: clock.now()), [pattern(length)]) }
        try await store.settle()
    }

    @Test(arguments: [CacheManager.EvictionOrder.leastRecentlyUsed, .keepingOfflineCopies])
    func largeEntriesLeaveBeforeSmallOnesOfTheirAge(_ order: CacheManager.EvictionOrder) async throws {
        let store = try await open { $0.evictionOrder = order }
        for index in 0..<6 {
            try await put(["/large-\(index)"], 500_000, in: store)
            try await put((0..<20).map { "/small-\(index)-\($0)" }, 3_000, in: store)
        }
        try await put((0..<40).map { "/next-\($0)" }, 100_000, in: store)
        #expect(try await isStored("/large-0", in: store) == false)
        // How much must leave depends on the length of the log, so all large ones may have left.
        var isLargeLeft = false
        for index in 0..<6 where try await isStored("/large-\(index)", in: store) { isLargeLeft = true }
        var smallLeft = 0
        for number in 0..<20 where try await isStored("/small-0-\(number)", in: store) { smallLeft += 1 }
        #expect(smallLeft == 20 || !isLargeLeft, "\(smallLeft) are left")
        try await store.close()
    }

    /// All entries may be too young to be due. Small ones that were used then stay, although they
    /// are the oldest.
    @Test func youngLargeEntriesLeaveBeforeSmallOnesThatWereUsed() async throws {
        let store = try await open()
        let small = (0..<20).map { "/small-\($0)" }
        try await put(small, 3_000, in: store)
        for name in small { #expect(try await isStored(name, in: store)) }
        for number in 0..<40 { try await put(["/large-\(number)"], 500_000, in: store) }
        for name in small { #expect(try await isStored(name, in: store), "\(name)") }
        try await store.close()
    }

    /// The number of uses is written with the order of use, so it survives a restart.
    @Test(arguments: [0, 4 << 20]) func usesSurviveReopening(memory: Int) async throws {
        var store = try await open { $0.memoryBudget = memory }
        try await put(["/used", "/idle"], 50_000, in: store)
        for _ in 0..<3 { #expect(try await isStored("/used", in: store)) }
        try await store.close()
        let path = folder.store + "/0001.sqlite"
        #expect(try queryInteger(path, "SELECT max(recency & 15) FROM entry") >= 4)
        #expect(try queryInteger(path, "SELECT min(recency & 15) FROM entry") == 0)
        store = try await open { $0.memoryBudget = memory }
        try await put((0..<120).map { "/next-\($0)" }, 50_000, in: store)
        try await put((120..<160).map { "/next-\($0)" }, 50_000, in: store)
        #expect(try await isStored("/idle", in: store) == false)
        #expect(try await isStored("/used", in: store))
        try await store.close()
    }

    /// A miss in an outage is a failed request.
    @Test(arguments: [0, 4 << 20]) func useInAnOutageCountsTwice(memory: Int) async throws {
        let store = try await open { $0.memoryBudget = memory }
        try await put(["/needed", "/used"], 1_000, in: store)
        for name in ["/needed", "/used"] {
            let response = try #require(try await store.responses.lookup(try cacheKey(name)).first)
            if name == "/needed" { store.responses.noteNeeded(response) }
        }
        try await store.close()
        let path = folder.store + "/0001.sqlite"
        #expect(try queryInteger(path, "SELECT max(recency & 15) FROM entry") == 8)
        #expect(try queryInteger(path, "SELECT min(recency & 15) FROM entry") == 4)
    }

    /// A walk judges entries by the index, so the size is written with the order of use.
    @Test func stampsHoldSizes() async throws {
        var store = try await open()
        try await put(["/large"], 500_000, in: store)
        try await put(["/small"], 3_000, in: store)
        try await store.close()
        let path = folder.store + "/0001.sqlite"
        let sizes = [
            try queryInteger(path, "SELECT max(size) FROM entry"),
            try queryInteger(path, "SELECT min(size) FROM entry"),
        ]
        let expected = sizes.map { Int64(SizeClass(size: $0).number) }
        func classes() throws -> [Int64] {
            try ["max", "min"].map { try queryInteger(path, "SELECT \($0)((recency >> 4) & 63) FROM entry") }
        }
        #expect(try classes() == expected)
        // An earlier program wrote no size. It is added when the uses are written.
        try runSQL(path, "UPDATE entry SET recency = (1 << 48) + (id << 4)")
        store = try await open()
        for name in ["/large", "/small"] { #expect(try await isStored(name, in: store)) }
        try await store.close()
        #expect(try classes() == expected)
    }

    /// Earlier programs stored the position in the order of use alone, and later the uses.
    @Test(arguments: ["id", "(1 << 48) + (id << 4)"])
    func stampsOfEarlierProgramsComeFirst(_ stamp: String) async throws {
        var store = try await open()
        try await put((0..<30).map { "/\($0)" }, 100_000, in: store)
        try await store.close()
        try runSQL(folder.store + "/0001.sqlite", "UPDATE entry SET recency = \(stamp)")
        store = try await open()
        for number in 30..<75 {
            try await put(["/\(number)"], 100_000, in: store)
            #expect(try await isStored("/\(number)", in: store))
        }
        #expect(try await isStored("/0", in: store) == false)
        for number in 30..<75 { #expect(try await isStored("/\(number)", in: store), "\(number)") }
        try await store.close()
    }
}
