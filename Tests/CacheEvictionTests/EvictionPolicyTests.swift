import HoldfastTesting
import Testing

@testable import CacheEviction

@Suite(.timeLimit(.minutes(20))) struct EvictionPolicyTests {
    private var policy = EvictionPolicy(budget: 100_000)
    private var victims: [EvictionPolicy.Slot] = []

    private mutating func admits(_ key: Int64, size: Int) -> Bool { policy.admits(key, size: size) }

    @discardableResult
    private mutating func insert(_ key: Int64, size: Int = 1_000, cost: MissCost = .usual) -> EvictionPolicy.Slot? {
        policy.insert(key, size: size, cost: cost, victims: &victims)
    }

    private mutating func use(_ keys: some Sequence<Int64>) throws {
        for key in keys { policy.use(try #require(policy.slot(of: key))) }
    }

    @Test mutating func largerEntryThanTheBudgetIsNotInserted() {
        insert(1, size: 100_001)
        #expect(policy.slot(of: 1) == nil && policy.count == 0 && policy.bytes == 0)
        insert(1, size: 100_000)
        #expect(policy.slot(of: 1) != nil && policy.bytes == 100_000)
    }

    @Test mutating func entryIsInsertedOnce() {
        let slots = [insert(1), insert(1)]
        #expect(slots[0] != nil && slots[1] == nil)
        #expect(policy.count == 1 && policy.bytes == 1_000)
    }

    @Test mutating func entriesUsedOnceDoNotEvictEntriesUsedTwice() throws {
        for key in 0..<50 as Range<Int64> { insert(key) }
        try use(0..<50)
        for key in 1_000..<1_500 as Range<Int64> { insert(key) }
        let kept = (0..<50 as Range<Int64>).filter { policy.slot(of: $0) != nil }
        #expect(kept.count == 50)
    }

    @Test mutating func oldUsesAreForgotten() throws {
        for key in 0..<10 as Range<Int64> { insert(key) }
        for _ in 0..<100 { try use(0..<10) }
        for round in 1...200 as ClosedRange<Int64> {
            let keys = round * 100..<round * 100 + 20
            for key in keys { insert(key) }
            try use(keys.filter { policy.slot(of: $0) != nil })
        }
        #expect(!(0..<10 as Range<Int64>).contains { policy.slot(of: $0) != nil })
    }

    @Test mutating func largeEntryIsEvictedBeforeSmallOnes() {
        for key in 1...20 as ClosedRange<Int64> { insert(key) }
        insert(100, size: 60_000)
        for key in 21...50 as ClosedRange<Int64> { insert(key) }
        let kept = (1...50 as ClosedRange<Int64>).filter { policy.slot(of: $0) != nil }
        #expect(policy.slot(of: 100) == nil && kept.count == 50)
    }

    @Test mutating func entryOfHigherCostIsEvictedLater() throws {
        insert(1)
        insert(2, cost: .onlyOfflineCopy)
        insert(3)
        policy.setCost(try #require(policy.slot(of: 3)), .onlyOfflineCopy)
        for key in 10..<120 as Range<Int64> { insert(key) }
        #expect(policy.slot(of: 1) == nil && policy.slot(of: 2) != nil && policy.slot(of: 3) != nil)
    }

    @Test mutating func entryThatComesBackSoonKeepsItsUses() throws {
        for key in 0..<100 as Range<Int64> { insert(key) }
        insert(100)
        let evicted = try #require((0..<100 as Range<Int64>).first { policy.slot(of: $0) == nil })
        insert(evicted)
        for key in 200..<330 as Range<Int64> { insert(key) }
        #expect(policy.slot(of: evicted) != nil && policy.slot(of: 100) == nil)
    }

    @Test mutating func removedEntryKeepsItsUses() throws {
        insert(1)
        try use([1])
        policy.remove(try #require(policy.slot(of: 1)))
        #expect(policy.count == 0 && policy.bytes == 0 && policy.slot(of: 1) == nil)
        insert(1)
        for key in 10..<200 as Range<Int64> { insert(key) }
        #expect(policy.slot(of: 1) != nil)
    }

    @Test mutating func fullCacheAdmitsOnTheSecondRead() {
        #expect(admits(1, size: 100_000) && !admits(1, size: 100_001))
        for key in 0..<100 as Range<Int64> { insert(key) }
        #expect(admits(5, size: 1_000), "it is in the cache")
        #expect(!admits(500, size: 1_000) && admits(500, size: 1_000))
    }

    @Test mutating func growthAndASmallerBudgetEvict() throws {
        for key in 0..<100 as Range<Int64> { insert(key) }
        victims = []
        policy.resize(try #require(policy.slot(of: 3)), to: 11_000, victims: &victims)
        #expect(victims.count >= 1 && policy.bytes <= 100_000)
        victims = []
        policy.setBudget(20_000, victims: &victims)
        #expect(policy.budget == 20_000 && policy.bytes <= 20_000 && victims.count >= 70)
        policy.removeAll()
        #expect(policy.count == 0 && policy.bytes == 0 && policy.budget == 20_000)
    }

    /// Compares the counts with a dictionary after every event. A failure names its seed.
    @Test(arguments: 0..<30 as Range<UInt64>) func countsFollowFromTheEvents(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var policy = EvictionPolicy(budget: 100_000)
        var twin = policy
        var sizes: [Int64: Int] = [:]
        var keys: [EvictionPolicy.Slot: Int64] = [:]
        for step in 0..<5_000 {
            var victims: [EvictionPolicy.Slot] = []
            var twins: [EvictionPolicy.Slot] = []
            let key = Int64.random(in: 0..<300, using: &random)
            let size = Int.random(in: 0..<20, using: &random) == 0 ? 0 : Int.random(in: 1..<9_000, using: &random)
            var inserted: EvictionPolicy.Slot?
            switch (Int.random(in: 0..<20, using: &random), policy.slot(of: key)) {
            case (0, let slot?):
                policy.remove(slot)
                twin.remove(slot)
                sizes[key] = nil
                keys[slot] = nil
            case (1, let slot?):
                policy.resize(slot, to: size, victims: &victims)
                twin.resize(slot, to: size, victims: &twins)
                sizes[key] = size
            case (2, let slot?):
                policy.setCost(slot, .onlyOfflineCopy)
                twin.setCost(slot, .onlyOfflineCopy)
            case (_, let slot?):
                policy.use(slot)
                twin.use(slot)
            case (0, nil):
                let budget = Int.random(in: 50_000...150_000, using: &random)
                policy.setBudget(budget, victims: &victims)
                twin.setBudget(budget, victims: &twins)
            case (_, nil):
                inserted = policy.insert(key, size: size, victims: &victims)
                _ = twin.insert(key, size: size, victims: &twins)
            }
            #expect(victims == twins, "seed \(seed), step \(step)")
            for victim in victims {
                let evicted = try #require(keys[victim])
                keys[victim] = nil
                sizes[evicted] = nil
            }
            if let inserted { (keys[inserted], sizes[key]) = (key, size) }
            let bytes = sizes.values.reduce(0, +)
            try #require(policy.bytes == bytes && policy.count == sizes.count, "seed \(seed), step \(step)")
            #expect(policy.bytes <= policy.budget && policy.ghostCount <= max(16, policy.count + 1))
        }
        #expect(keys.allSatisfy { policy.slot(of: $0.value) == $0.key })
    }
}
