import HoldfastTesting
import Testing

@testable import CacheEviction

/// Entries in the order of use, as the store's index has them.
private struct Index {
    struct Row {
        var key: Int64
        var entry: StoreEviction.Entry
        var uses: RecordedUses?
        var isPinned = false
    }

    var policy: StoreEviction
    var rows: [Row] = []
    var place = Int64.min
    var now: Int64 = 0
    var examined = 0

    init(budget: Int64 = 1 << 20) { policy = StoreEviction(budget: budget) }

    var bytes: Int64 { rows.reduce(0) { $0 + $1.entry.size } }

    mutating func insert(_ key: Int64, size: Int64 = 1_000) {
        now += 1
        let stamp = policy.insert(key, size: size, number: now, replacing: nil)
        rows.append(Row(key: key, entry: .init(stamp: stamp, size: size)))
    }

    mutating func use(_ key: Int64) {
        now += 1
        guard let index = rows.firstIndex(where: { $0.key == key }) else { return }
        rows[index].uses = RecordedUses(count: (rows[index].uses?.count ?? 0) + 1, number: now)
    }

    /// - Returns: the keys of the victims.
    mutating func evict(_ needed: Int64, atMost most: Int = .max) -> [Int64] {
        var pass = EvictionPass<Int64>(needed: needed, atMost: most, now: now)
        var victims: [Int64] = []
        let start = place
        let later = rows.filter { $0.entry.stamp.stored > start }
        let isYoung = { [policy, now] (row: Row) in start > .min && policy.isTooYoung(row.entry.stamp, now: now) }
        let passed = rows.filter { $0.entry.stamp.stored <= start }
        let walk = later.filter { !isYoung($0) } + passed + later.filter(isYoung)
        for row in walk where !pass.isDone && !row.isPinned {
            examined += 1
            place = row.entry.stamp.stored
            switch pass.examine(row.key, row.entry, uses: row.uses, &policy) {
            case .keep: break
            case .evict: victims.append(row.key)
            case .move(let stamp):
                guard let index = rows.firstIndex(where: { $0.key == row.key }) else { continue }
                rows[index].entry.stamp = stamp
                rows[index].uses = nil
            }
        }
        let rest = pass.finish(&policy)
        if !rest.isEmpty { place = .min }
        victims += rest
        for row in rows where victims.contains(row.key) { policy.evict(row.key, row.entry, now: now) }
        rows.removeAll { victims.contains($0.key) }
        rows.sort { $0.entry.stamp.stored < $1.entry.stamp.stored }
        return victims
    }
}

@Suite(.timeLimit(.minutes(20))) struct StoreEvictionTests {
    private var index = Index()

    @Test mutating func unusedEntriesOfOneSizeLeaveInTheOrderOfStoring() {
        var victims: [Int64] = []
        for key in 0..<1_000 as Range<Int64> {
            index.insert(key)
            if index.rows.count > 100 { victims += index.evict(5_000) }
        }
        #expect(victims == Array(0..<Int64(victims.count)))
        #expect(victims.count > 890)
    }

    @Test mutating func entriesUsedOftenOutliveAScan() {
        for key in 0..<10 as Range<Int64> { index.insert(key) }
        for _ in 0..<3 {
            for key in 0..<10 as Range<Int64> { index.use(key) }
        }
        for key in 1_000..<1_300 as Range<Int64> {
            index.insert(key)
            if index.rows.count > 100 { _ = index.evict(10_000) }
        }
        #expect(index.rows.count { $0.key < 10 } == 10)
    }

    @Test mutating func largeEntryLeavesBeforeSmallOnesOfItsAge() {
        for key in 0..<10 as Range<Int64> { index.insert(key) }
        index.insert(100, size: 64_000)
        for key in 11..<20 as Range<Int64> { index.insert(key) }
        let victims = index.evict(20_000)
        #expect(victims == [100])
    }

    @Test mutating func passFreesSomethingWhenEverythingWasUsed() {
        for key in 0..<20 as Range<Int64> { index.insert(key) }
        for key in 0..<20 as Range<Int64> { index.use(key) }
        let victims = [index.evict(1_000), index.evict(1_000)]
        #expect(victims[0].isEmpty, "the first pass moves them")
        #expect(victims[1].count == 1)
    }

    /// A pass reads at most four times the bytes that it needs, and one entry more.
    @Test mutating func passIsBounded() {
        for key in 0..<10_000 as Range<Int64> { index.insert(key) }
        let victims = index.evict(20_000)
        #expect(victims.count == 20)
        #expect(index.examined <= 81)
    }

    /// A large entry behind them is the better victim.
    @Test mutating func passForAFewBytesIsNotSatisfiedWithAFewSmallEntries() {
        for key in 0..<20 as Range<Int64> { index.insert(key) }
        index.insert(20, size: 200_000)
        for key in 21..<10_000 as Range<Int64> { index.insert(key) }
        #expect(index.evict(1_000) == [20])
        #expect(index.examined <= 65)
    }

    /// A transaction evicts a limited number of entries, so a pass reads four times as many.
    @Test mutating func passIsBoundedByTheEntriesOfATransaction() {
        for key in 0..<10_000 as Range<Int64> { index.insert(key) }
        let victims = [index.evict(1_000_000, atMost: 10), index.evict(1_000_000, atMost: 10)]
        #expect(victims == [Array(0..<10), Array(10..<20)])
        #expect(index.examined <= 82)
    }

    @Test mutating func entryThatComesBackKeepsItsUses() throws {
        index.insert(1)
        for _ in 0..<3 { index.use(1) }
        let victims = [index.evict(1), index.evict(1)]
        #expect(victims == [[], [1]])
        index.insert(1)
        #expect(try #require(index.rows.first).entry.stamp.quarters > 8)
    }

    /// A use in an outage is recorded twice, so it counts as much as two.
    @Test mutating func entryNeededInAnOutageOutlivesOthersOfItsAge() {
        for key in 0..<20 as Range<Int64> { index.insert(key) }
        let needed: Set<Int64> = [0, 1, 2, 3, 4]
        for key in 0..<20 as Range<Int64> {
            index.use(key)
            if needed.contains(key) { index.use(key) }
        }
        _ = index.evict(1_000)
        // The first pass moved all of them.
        index.now += 1_000
        let victims = index.evict(3_000)
        #expect(victims.count == 3)
        #expect(needed.isDisjoint(with: victims))
    }

    @Test mutating func damagedEntryLeavesFirst() {
        for key in 0..<10 as Range<Int64> { index.insert(key) }
        index.rows[9].entry.stamp.number = -1
        index.use(9)
        index.rows.sort { $0.entry.stamp.stored < $1.entry.stamp.stored }
        let victims = index.evict(1)
        #expect(victims == [9])
    }

    /// After the overdue entries are gone, all others may be too young to be overdue.
    @Test mutating func passFindsVictimsAmongYoungEntries() {
        for key in 0..<10 as Range<Int64> { index.insert(key, size: 300_000) }
        let first = index.evict(1)
        index.now += 1
        let victims = [index.evict(1), index.evict(1)]
        #expect(first == [0])
        #expect(victims == [[1], [2]])
    }

    /// Small entries that are worth keeping are fewer bytes than the pass needs. It takes the large
    /// ones after them, although those are too young to be overdue.
    @Test mutating func fewSmallEntriesOutliveYoungLargeOnes() {
        for key in 0..<20 as Range<Int64> {
            index.insert(key, size: 2_000)
            index.use(key)
        }
        for key in 100..<200 as Range<Int64> {
            index.insert(key, size: 100_000)
            while index.bytes > 2_000_000 { _ = index.evict(300_000) }
        }
        #expect(index.rows.count { $0.key < 20 } == 20)
    }

    /// Random events: pinned entries stay, a pass frees or moves something if anything may leave,
    /// and equal events have equal victims. A failure names its seed.
    @Test(arguments: 0..<30 as Range<UInt64>) func passesKeepPinnedEntriesAndEnd(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var index = Index(budget: 1 << 24)
        var pinned: Set<Int64> = []
        for step in 0..<3_000 as Range<Int64> {
            switch Int.random(in: 0..<10, using: &random) {
            case ..<5: index.insert(step, size: Int64.random(in: 1...50_000, using: &random))
            case ..<9: index.use(index.rows.randomElement(using: &random)?.key ?? 0)
            default:
                guard !index.rows.isEmpty, pinned.count < 20 else { continue }
                let place = Int.random(in: 0..<index.rows.count, using: &random)
                index.rows[place].isPinned = true
                pinned.insert(index.rows[place].key)
            }
            while index.bytes > 2_000_000 {
                var twin = index
                let count = index.rows.count
                let used = index.rows.count { $0.uses != nil }
                let victims = index.evict(100_000)
                let again = twin.evict(100_000)
                #expect(victims == again, "seed \(seed), step \(step)")
                #expect(pinned.isDisjoint(with: victims), "seed \(seed), step \(step)")
                let moved = used - index.rows.count { $0.uses != nil }
                try #require(index.rows.count < count || moved > 0, "seed \(seed), step \(step)")
            }
        }
        #expect((0...1).contains(index.policy.trust))
    }

    @Test(arguments: [1, 1 << 20, 1 << 30, 1 << 50] as [Int64]) func memoryIsBounded(budget: Int64) {
        let bytes = StoreEviction(budget: budget).bytes
        #expect(bytes >= 8 << 10 && bytes <= 2 << 20)
    }
}

@Suite(.timeLimit(.minutes(20))) struct UseStampTests {
    @Test func stampsSortByNumber() {
        var random = SeededRandom(seed: 1)
        for _ in 0..<10_000 {
            let numbers = (0..<2).map { _ in Int64.random(in: 0..<1 << 40, using: &random) }
            let stamps = numbers.map { UseStamp(number: $0, quarters: Int.random(in: 0...15, using: &random)) }
            #expect(stamps.map { UseStamp(stored: $0.stored) } == stamps)
            #expect((numbers[0] < numbers[1]) == (stamps[0].stored < stamps[1].stored) || numbers[0] == numbers[1])
        }
    }

    /// Earlier programs stored the number alone.
    @Test func positionOfAnEarlierProgramIsBeforeEveryStamp() {
        let old = UseStamp(stored: 1_000_000)
        #expect(old == UseStamp(number: 1_000_000, quarters: 4))
        #expect(UseStamp(number: 0, quarters: 0).stored > 1_000_000)
        #expect(UseStamp(stored: -1).stored == -1)
    }

    @Test func usesAreBounded() {
        var stamp = UseStamp(number: 1, quarters: 0)
        for number in 2..<100 as Range<Int64> { stamp = stamp.used(.init(count: 1, number: number)) }
        #expect(stamp == UseStamp(number: 99, quarters: 15))
        #expect(stamp.used(.init(count: .max, number: 5)).number == 99)
    }
}

@Suite(.timeLimit(.minutes(20))) struct GhostTableTests {
    @Test func newGhostsReplaceTheOldest() {
        var table = GhostTable(capacity: 1024)
        for key in 0..<10_000 as Range<Int64> {
            table.add(key, .init(quarters: 3, lastUse: UInt32(key)), now: UInt32(key))
        }
        let kept = (0..<10_000 as Range<Int64>).filter { table.take($0) != nil }
        #expect(kept.count <= 1024 && kept.count > 900)
        #expect(kept.count { $0 < 5_000 } < 30)
    }

    @Test func ghostIsWhatWasAdded() {
        var table = GhostTable(capacity: 8)
        table.add(-7, .init(quarters: 15, lastUse: .max), now: 2)
        table.add(-7, .init(quarters: 9, lastUse: 1), now: 2)
        #expect(table.take(-7) == .init(quarters: 9, lastUse: 1))
        #expect(table.take(-7) == nil)
    }
}
