import FaultWorkload
import HTTPCache
import HTTPCacheSemantics
import NIOCore
import TestSupport
import Testing

@testable import OfflineStore

@Suite(.timeLimit(.minutes(20))) struct MemoryRefillTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    private func open(_ change: (inout CacheManager.Configuration) -> Void = { _ in }) async throws -> CacheManager {
        try await openStore(folder.store, clock: clock, change)
    }

    /// Stores some responses, uses some of them in this order, and closes the store.
    private func fill(_ names: [String], _ length: Int = 1_000, using used: [String]) async throws {
        let store = try await open()
        for name in names { try await store.store(draft(try cacheKey(name), at: clock.now()), [pattern(length)]) }
        for name in used { _ = try await store.responses.lookup(try cacheKey(name)) }
        try await store.close()
    }

    private func isResident(_ name: String, in store: CacheManager) throws -> Bool {
        store.responses.resident(try cacheKey(name))?.isEmpty == false
    }

    @Test func usedEntriesAreInMemoryWithoutARequest() async throws {
        let names = (0..<50).map { "/\($0)" }
        let used = names.filter { $0.hasSuffix("3") }
        try await fill(names, using: used)
        let store = try await open { $0.refillsMemory = true }
        await store.memoryRefill?.wait()
        for name in names { #expect(try isResident(name, in: store) == used.contains(name), "\(name)") }
        let key = try cacheKey("/3")
        #expect(store.responses.resident(key)?.first?.content?.body == pattern(1_000))
        try await store.close()
    }

    @Test func objectsAreInMemoryWithoutARequest() async throws {
        var store = try await open()
        try await store.setObject([1, 2, 3], forKey: "used")
        try await store.setObject([4], forKey: "unused")
        _ = try await store.object([Int].self, forKey: "used")
        try await store.close()
        store = try await open { $0.refillsMemory = true }
        await store.memoryRefill?.wait()
        #expect(try await store.statistics().residentKeys == 1)
        #expect(try await store.object([Int].self, forKey: "used") == [1, 2, 3])
        try await store.close()
    }

    @Test(arguments: [(false, 4 << 20), (true, 0)])
    func nothingIsReadIfItIsOffOrWithoutMemory(_ isOn: Bool, _ memory: Int) async throws {
        try await fill(["/x"], using: ["/x"])
        let store = try await open {
            $0.refillsMemory = isOn
            $0.memoryBudget = memory
        }
        #expect(store.memoryRefill == nil)
        #expect(try !isResident("/x", in: store))
        try await store.close()
    }

    /// A restart does not count as a use, or the order of use would be that of the refill.
    @Test func readingEntriesBackDoesNotChangeTheirOrder() async throws {
        try await fill(["/a", "/b"], using: ["/a", "/b"])
        let path = folder.store + "/0001.sqlite"
        let query = "SELECT sum(recency - (1 << 62)) FROM entry"
        let before = try queryInteger(path, query)
        let store = try await open { $0.refillsMemory = true }
        await store.memoryRefill?.wait()
        #expect(try await store.statistics().residentKeys == 2)
        try await store.close()
        #expect(try queryInteger(path, query) == before)
    }

    /// The memory would evict what was read first, if a step added more than there is room for.
    @Test func refillLeavesSpaceAndBeginsWithTheMostRecentlyUsed() async throws {
        let names = (0..<100).map { "/\($0)" }
        try await fill(names, 20_000, using: names)
        let store = try await open {
            $0.refillsMemory = true
            $0.memoryBudget = 1 << 20
        }
        await store.memoryRefill?.wait()
        let statistics = try await store.statistics()
        #expect(statistics.residentBytes <= statistics.memoryBudget)
        #expect(statistics.residentBytes > statistics.memoryBudget / 2)
        var resident: [String] = []
        for name in names where try isResident(name, in: store) { resident.append(name) }
        #expect(resident == Array(names.suffix(resident.count)))
        try await store.close()
    }

    // MARK: While it runs

    /// A refill whose steps the test takes, one row each.
    private func stepwise(_ store: CacheManager) throws -> MemoryRefill {
        var pace = RefillPace()
        pace.rows = 1
        return try MemoryRefill(store.core, store.core.database(), pace: pace)
    }

    @Test func entryRemovedOrPurgedMeanwhileIsNotBroughtBack() async throws {
        try await fill(["/removed", "/purged", "/kept"], using: ["/removed", "/purged", "/kept"])
        let store = try await open()
        let refill = try stepwise(store)
        #expect(refill.takeStep() != nil)
        #expect(try isResident("/kept", in: store))
        #expect(try !isResident("/removed", in: store))
        try await store.removeResponse(for: try cacheKey("/removed"))
        try await store.invalidateResponses(for: try TargetURI("https://api.example/purged"))
        while refill.takeStep() != nil {}
        #expect(try !isResident("/removed", in: store))
        let purged = try await store.responses.lookup(try cacheKey("/purged"))
        #expect(purged.count == 1 && purged.first?.head.invalidation != nil)
        try await store.close()
    }

    /// An entry that was read back is checked like any other in memory.
    @Test func purgeAfterTheRefillIsInForce() async throws {
        try await fill(["/x"], using: ["/x"])
        let store = try await open { $0.refillsMemory = true }
        await store.memoryRefill?.wait()
        #expect(try isResident("/x", in: store))
        try await store.invalidateResponses(for: try TargetURI("https://api.example/x"))
        let found = try await store.responses.lookup(try cacheKey("/x"))
        #expect(found.count == 1 && found.first?.head.invalidation != nil)
        try await store.close()
    }

    @Test func closingEndsARefill() async throws {
        let names = (0..<10).map { "/\($0)" }
        try await fill(names, using: names)
        let store = try await open()
        var pace = RefillPace()
        pace.rows = 1
        pace.shortestPause = .seconds(3_600)
        store.refillMemory(pace)
        let refill = try #require(store.memoryRefill)
        try await store.close()
        await refill.wait()
        #expect(refill.takeStep() == nil)
    }

    /// A refill has a connection of its own.
    @Test func refillNeedsNoConnectionOfRequests() async throws {
        try await fill(["/x"], using: ["/x"])
        let store = try await open { $0.readerCount = 1 }
        let refill = try stepwise(store)
        let pause = try store.core.read { _, _ in refill.takeStep() }
        #expect(pause != nil)
        #expect(try isResident("/x", in: store))
        await refill.end()
        try await store.close()
    }

    // MARK: The pace

    @Test func refillReadsAtMostItsRateAndAQuarterOfTheTime() {
        var random = SeededRandom(seed: 1)
        let pace = RefillPace()
        for _ in 0..<1_000 {
            let worked = Duration.microseconds(Int.random(in: 1...20_000, using: &random))
            let bytes = Int64.random(in: 0...8 << 20, using: &random)
            let pause = pace.pause(after: worked, bytes: bytes)
            #expect(pause >= worked * 3 && pause >= .milliseconds(1))
            #expect(Double(bytes) <= (worked + pause) / .seconds(1) * Double(64 << 20) * 1.001)
        }
    }

    private static let ends: [(Int64, Int64, Int, Bool)] = [
        (0, 0, 0, false), (0, 0, 874, false), (0, 0, 875, true), (0, 1_000, 0, true), (262_144, 0, 0, true),
    ]

    @Test(arguments: ends)
    func refillEnds(_ rows: Int64, _ bytes: Int64, _ resident: Int, _ isOver: Bool) {
        #expect(RefillPace().isOver(rows: rows, bytes: bytes, resident: resident, budget: 1_000) == isOver)
    }
}
