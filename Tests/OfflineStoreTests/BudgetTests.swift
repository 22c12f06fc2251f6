import HTTPCache
import HTTPCacheSemantics
import NIOCore
import OfflineStore
import Testing

@Suite struct BudgetTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    private var folderSize: Int64 {
        TemporaryFolder.names(folder.store).reduce(0) { $0 + fileSize(folder.store + "/" + $1) }
    }

    @Test(arguments: [(700, 15_000), (20_000, 1200), (900_000, 60)])
    func theFolderStaysWithinItsBudget(_ length: Int, _ count: Int) async throws {
        let budget: Int64 = 8 << 20
        let store = try await openStore(folder.store, clock: clock, budget: budget)
        let body = pattern(length)
        var largest: Int64 = 0
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<count {
                if index >= 16 { try await group.next() }
                group.addTask {
                    // More bodies at once than there is room for are not stored; that is all that happens.
                    let code = await code {
                        try await store.store(draft(try cacheKey("/\(index)"), at: clock.now()), [body])
                    }
                    #expect(code == nil || code == .busy)
                }
                if index % 16 == 0 { largest = max(largest, folderSize) }
            }
            try await group.waitForAll()
        }
        try await store.store(draft(try cacheKey("/last"), at: clock.now()), [body])
        largest = max(largest, folderSize)
        try await store.settle()
        largest = max(largest, folderSize)
        #expect(largest <= budget, "\(largest)")
        let statistics = try await store.statistics()
        #expect(statistics.storedBytes > budget / 4)
        #expect(try await store.responses.lookup(try cacheKey("/last")).count == 1)
        try await store.close()
    }

    @Test func largeObjectsWaitForTheirTurn() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 8 << 20)
        let text = String(repeating: "x", count: 900_000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<20 { group.addTask { try await store.setObject(text, forKey: "\(index)") } }
            try await group.waitForAll()
        }
        #expect(folderSize <= 8 << 20, "\(folderSize)")
        #expect(try await store.statistics().objects > 3)
        try await store.close()
    }

    @Test func theLeastRecentlyUsedGoesFirstAndPinnedStays() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 8 << 20)
        try await store.setObject(String(repeating: "p", count: 100_000), forKey: "pinned")
        try await store.setObject(String(repeating: "u", count: 100_000), forKey: "used")
        try await store.setObject(String(repeating: "i", count: 100_000), forKey: "idle")
        #expect(try await store.setPinned(true, try #require(try await store.entry(forObjectKey: "pinned"))))
        for index in 0..<200 {
            try await store.store(draft(try cacheKey("/\(index)"), at: clock.now()), [pattern(100_000)])
            _ = try await store.object(String.self, forKey: "used")
        }
        #expect(try await store.object(String.self, forKey: "pinned") != nil)
        #expect(try await store.object(String.self, forKey: "used") != nil)
        #expect(try await store.object(String.self, forKey: "idle") == nil)
        #expect(try await store.responses.lookup(try cacheKey("/0")).isEmpty)
        #expect(try await store.responses.lookup(try cacheKey("/199")).count == 1)
        #expect(try await store.statistics().pinned == 1)
        // What takes a pinned entry's place is pinned too.
        try await store.setObject("new", forKey: "pinned")
        #expect(try await store.statistics().pinned == 1)
        try await store.close()
    }

    @Test func theOrderOfUseSurvivesReopening() async throws {
        var store = try await openStore(folder.store, clock: clock, budget: 8 << 20)
        for index in 0..<30 { try await store.setObject(String(repeating: "x", count: 100_000), forKey: "\(index)") }
        _ = try await store.object(String.self, forKey: "0")
        try await store.close()
        store = try await openStore(folder.store, clock: clock, budget: 8 << 20)
        for index in 30..<75 { try await store.setObject(String(repeating: "x", count: 100_000), forKey: "\(index)") }
        #expect(try await store.objectData(forKey: "0") != nil)
        #expect(try await store.objectData(forKey: "1") == nil)
        try await store.close()
    }

    @Test func removingEverythingGivesTheRoomBack() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 64 << 20)
        for index in 0..<40 {
            try await store.store(draft(try cacheKey("/\(index)"), at: clock.now()), [pattern(500_000)])
        }
        #expect(folderSize > 20_000_000)
        try await store.removeAll()
        #expect(folderSize < 3_000_000, "\(folderSize)")
        let statistics = try await store.statistics()
        #expect(statistics.responses == 0 && statistics.unreferencedBodies == 0)
        try await store.close()
    }

    @Test func aSmallerBudgetIsReachedAfterReopening() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 64 << 20)
        for index in 0..<40 {
            try await store.store(draft(try cacheKey("/\(index)"), at: clock.now()), [pattern(500_000)])
        }
        try await store.close()
        let smaller = try await openStore(folder.store, clock: clock, budget: 8 << 20)
        try await smaller.settle()
        #expect(folderSize <= 8 << 20, "\(folderSize)")
        #expect(try await smaller.statistics().responses > 4)
        try await smaller.close()
    }
}
