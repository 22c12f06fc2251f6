import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import NIOCore
import OfflineStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct BudgetTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    private var sizes: [String] {
        TemporaryFolder.names(folder.store).map { "\($0) \(fileSize(folder.store + "/" + $0))" }
    }

    private var folderSize: Int64 {
        TemporaryFolder.names(folder.store).reduce(0) { $0 + fileSize(folder.store + "/" + $1) }
    }

    @Test(arguments: [(700, 15_000), (20_000, 1200), (900_000, 60)])
    func folderStaysWithinItsBudget(_ length: Int, _ count: Int) async throws {
        let budget: Int64 = 8 << 20
        let store = try await openStore(folder.store, clock: clock, budget: budget)
        let body = pattern(length)
        var largest: Int64 = 0
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<count {
                if index >= 16 { try await group.next() }
                group.addTask {
                    // If more bodies are stored at once than there is space for, some are not
                    // stored. Nothing else happens.
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

    /// Memory records one use for many. An entry that is used all the time must stay even if much
    /// is evicted before its next use.
    @Test func constantlyUsedEntriesSurviveRepeatedEvictions() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 8 << 20)
        var used: [String] = []
        for index in 0..<40 {
            // Not all in the same eviction.
            if index % 8 == 0 {
                used.append("used \(index)")
                try await store.setObject(String(repeating: "u", count: 20_000), forKey: "used \(index)")
            }
            try await store.setObject(String(repeating: "o", count: 100_000), forKey: "old \(index)")
            for key in used { _ = try await store.object(String.self, forKey: key) }
        }
        try await store.settle()
        #expect(try await store.entry(forObjectKey: "old 39") != nil)
        let evictions = try await store.statistics().objects
        for index in 0..<30 {
            try await store.setObject(String(repeating: "n", count: 100_000), forKey: "new \(index)")
        }
        #expect(try await store.statistics().objects < evictions + 30)
        #expect(try await store.entry(forObjectKey: "old 0") == nil)
        for key in used { #expect(try await store.entry(forObjectKey: key) != nil, "\(key)") }
        try await store.close()
    }

    @Test func evictsLeastRecentlyUsedFirstAndKeepsPinned() async throws {
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
        // The replacement of a pinned entry is pinned too.
        try await store.setObject("new", forKey: "pinned")
        #expect(try await store.statistics().pinned == 1)
        try await store.close()
    }

    @Test func orderOfUseSurvivesReopening() async throws {
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

    @Test func removingEverythingFreesTheSpace() async throws {
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

    @Test func reopeningWithASmallerBudgetEvicts() async throws {
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

    /// Pinned entries are not evicted: new ones are rejected before the folder exceeds its budget.
    @Test func pinnedEntriesNeverExceedTheBudget() async throws {
        let budget: Int64 = 4 << 20
        let store = try await openStore(folder.store, clock: clock, budget: budget)
        for index in 0..<70 {
            let code = await code {
                try await store.setObject(String(repeating: "p", count: 60_000), forKey: "\(index)")
            }
            #expect(code == nil || code == .full)
            // Once the pinned entries reach the high-water mark, new entries are evicted at once.
            if let entry = try await store.entry(forObjectKey: "\(index)") {
                _ = try await store.setPinned(true, entry)
            }
            #expect(folderSize <= budget)
        }
        #expect(try await store.statistics().pinned > 30)
        let large = String(repeating: "p", count: 450_000)
        #expect(await code { try await store.setObject(large, forKey: "more") } == .full)
        let text = await message { try await store.setObject(large, forKey: "more") }
        #expect(text.contains("pinned") && text.contains("4194304"), "\(text)")
        #expect(folderSize <= budget)
        // Operations without bytes are never rejected.
        try await store.responses.invalidate(.all, keepingForOffline: true, at: clock.now())
        // So many that the store is below its high-water mark with the large entry; otherwise it
        // would be evicted at once.
        for index in 0..<20 {
            let entry = try #require(try await store.entry(forObjectKey: "\(index)"))
            #expect(try await store.setPinned(false, entry))
        }
        try await store.setObject(large, forKey: "more")
        #expect(try await store.entry(forObjectKey: "0") == nil)
        #expect(try await store.entry(forObjectKey: "more") != nil)
        try await store.close()
    }

    /// Replaced bodies that slow readers hold cannot be removed. They must not empty the store.
    @Test func bodiesHeldByReadersDoNotEmptyTheStore() async throws {
        let budget: Int64 = 8 << 20
        let store = try await openStore(folder.store, clock: clock, budget: budget)
        for index in 0..<20 { try await store.setObject(String(repeating: "k", count: 100_000), forKey: "\(index)") }
        var held: [BodyStream] = []
        var refused = 0
        let key = try cacheKey("/big")
        for _ in 0..<16 {
            let code = await code { try await store.store(draft(key, at: clock.now()), [pattern(900_000)]) }
            if code != nil { refused += 1 }
            #expect(code == nil || code == .busy)
            #expect(folderSize <= budget)
            if let response = try await store.responses.lookup(key).first,
                let body = try await store.responses.openBody(of: response)
            {
                held.append(body)
            }
        }
        #expect(refused > 5 && held.count > 3)
        #expect(try await store.statistics().objects == 20)
        for body in held { #expect(try await body.collect(upTo: 1 << 20) == pattern(900_000)) }
        held = []
        try await store.settle()
        try await store.store(draft(try cacheKey("/after"), at: clock.now()), [pattern(900_000)])
        #expect(try await store.responses.lookup(try cacheKey("/after")).count == 1)
        #expect(try await store.statistics().objects == 20)
        try await store.close()
    }

    /// Evicting an entry that is being read frees nothing.
    @Test func evictionSkipsEntriesBeingRead() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 8 << 20) { $0.memoryBudget = 0 }
        let key = try cacheKey("/read")
        try await store.store(draft(key, at: clock.now()), [pattern(900_000)])
        let response = try #require(try await store.responses.lookup(key).first)
        let body = try #require(try await store.responses.openBody(of: response))
        for index in 0..<150 { try await store.setObject(String(repeating: "x", count: 100_000), forKey: "\(index)") }
        #expect(try await store.objectData(forKey: "0") == nil)
        #expect(try await store.responses.lookup(key).count == 1)
        #expect(try await body.collect(upTo: 1 << 20) == pattern(900_000))
        try await store.close()
    }

    /// Once a write found no room, new responses are declined at first: no client hears that they
    /// are stored.
    ///
    /// Mutants: `full-of-pins-is-not-noted`, `full-of-pins-ends-by-no-unpinning`.
    @Test(arguments: [20_000, 200_000])
    func storeFullOfPinsDeclinesResponsesUntilThereIsRoom(length: Int) async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 8 << 20)
        func put(_ index: Int, isPinned: Bool = true) async throws -> Bool? {
            var draft = draft(try cacheKey("/\(index)"), at: clock.now())
            draft.isPinned = isPinned
            let writer = try await store.responses.beginWrite(
                draft,
                fencingNumber: store.responses.invalidationSequence
            )
            guard let writer else { return nil }
            do {
                try await writer.append(pattern(length, seed: UInt64(index)))
                return try await writer.finish() != nil
            } catch { return false }
        }
        var outcomes: [Bool?] = []
        for index in 0..<600 where outcomes.filter({ $0 == nil }).count < 40 {
            outcomes.append(try await put(index))
            clock.advance(by: .milliseconds(500))
        }
        #expect(outcomes.filter { $0 == false }.count == 1, "accepted and then not stored: \(outcomes)")
        #expect(outcomes.filter { $0 == nil }.count == 40, "\(outcomes)")
        #expect(await store.storeCondition() == .fullOfPins)
        #expect(folderSize <= 8 << 20)
        // The next response is only a trial, which writes as much as failed.
        #expect(try await store.setPinned(false, [.all]) > 5)
        #expect(try await put(1000, isPinned: false) == nil)
        try await store.settle()
        #expect(try await put(1001, isPinned: false) == true)
        #expect(await store.storeCondition() == .usable)
        try await store.close()
    }

    @Test(arguments: [1, 2, 3, 4])
    func budgetHoldsUnderRandomWork(seed: UInt64) async throws {
        let budget: Int64 = 6 << 20
        let store = try await openStore(folder.store, clock: clock, budget: budget) {
            $0.evictionOrder = seed % 2 == 0 ? .keepingOfflineCopies : .leastRecentlyUsed
            if seed > 2 { $0.quotas = [.tag("tag-0", bytes: 1 << 20), .everyOrigin(bytes: 3 << 20)] }
        }
        var generator = SeededGenerator(seed: seed)
        var held: [(body: BodyStream, length: Int)] = []
        var largest: Int64 = 0
        var refused = 0
        for step in 0..<450 {
            let name = "/\(Int.random(in: 0..<80, using: &generator))"
            let key = try cacheKey(name)
            let length = [200, 5000, 60_000, 200_000, 700_000].randomElement(using: &generator) ?? 0
            let tags = (0..<Int.random(in: 0...3, using: &generator)).map { "tag-\($0)" }
            let choice = Int.random(in: 0..<100, using: &generator)
            let code = await code {
                switch choice {
                case ..<45:
                    let draft = draft(key, at: clock.now(), isUsableStale: choice < 30, tags: tags)
                    try await store.store(draft, [pattern(length, seed: UInt64(length))])
                case ..<60: try await store.setObject(String(repeating: "o", count: length), forKey: name)
                case ..<75:
                    guard let response = try await store.responses.lookup(key).first else { return }
                    guard let body = try await store.responses.openBody(of: response) else { return }
                    held.append((body, Int(response.bodyLength)))
                    if held.count > 6 { held.removeFirst() }
                case ..<80:
                    if held.isEmpty { return }
                    let (body, length) = held.removeFirst()
                    let bytes = try await body.collect(upTo: 1 << 20)
                    #expect(bytes == pattern(length, seed: UInt64(length)), "\(length)")
                case ..<86:
                    guard let entry = try await store.entry(forObjectKey: name) else { return }
                    if entry.bodyLength < 100_000 { _ = try await store.setPinned(choice < 83, entry) }
                case ..<90: try await store.responses.invalidate(.key(key), keepingForOffline: false, at: clock.now())
                case ..<94:
                    try await store.responses.invalidate(.tag("tag-2"), keepingForOffline: choice < 92, at: clock.now())
                case ..<97: try await store.removeObject(forKey: name)
                case ..<99: try await store.removeExpired(includingOfflineUsable: choice < 98)
                default: try await store.responses.invalidate(.all, keepingForOffline: true, at: clock.now())
                }
            }
            if code != nil { refused += 1 }
            #expect(code == nil || code == .busy || code == .full || code == .tooLarge, "step \(step)")
            largest = max(largest, folderSize)
            #expect(largest <= budget, "seed \(seed), step \(step): \(sizes)")
            if largest > budget { break }
            clock.advance(by: .seconds(1))
        }
        held = []
        try await store.settle()
        #expect(largest > budget / 4 * 3 && refused < 100, "\(largest) \(refused)")
        let statistics = try await store.statistics()
        #expect(statistics.evictedEntries > 10 && statistics.unreferencedBodies == 0)
        #expect(try wrongTags(folder.store + "/0001.sqlite") == 0)
        try await store.close()
    }
}
