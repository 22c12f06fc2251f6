import HoldfastTesting
import Testing

@testable import CacheEviction

/// Entries in the order of use, as the store's index has them.
private struct Index {
    struct Row {
        var key: Int64
        var stamp: UseStamp
        var size: Int64
        var uses: RecordedUses?
        var isPinned = false
    }

    var policy: StoreEviction
    var rows: [Row] = []
    var place = Int64.min
    var now: Int64 = 0
    var examined = 0

    private let budget: Int64

    init(budget: Int64 = 1 << 20) {
        self.budget = budget
        policy = StoreEviction(budget: budget)
    }

    var bytes: Int64 { rows.reduce(0) { $0 + $1.size } }

    mutating func insert(_ key: Int64, size: Int64 = 1_000) {
        now += 1
        let stamp = policy.insert(key, size: size, number: now, replacing: nil)
        rows.append(Row(key: key, stamp: stamp, size: size))
    }

    mutating func use(_ key: Int64) {
        now += 1
        guard let index = rows.firstIndex(where: { $0.key == key }) else { return }
        rows[index].uses = RecordedUses(count: (rows[index].uses?.count ?? 0) + 1, number: now)
    }

    /// - Returns: the keys of the victims.
    mutating func evict(_ needed: Int64, atMost most: Int = .max) -> [Int64] {
        var pass = EvictionPass(needed: needed, atMost: most, now: now)
        var victims: [Int64] = []
        let start = place
        let later = rows.filter { $0.stamp.stored > start }
        let isYoung = { [policy, now] (row: Row) in start > .min && policy.isTooYoung(row.stamp, now: now) }
        let passed = rows.filter { $0.stamp.stored <= start }
        let walk = later.filter { !isYoung($0) } + passed + later.filter(isYoung)
        for row in walk where !pass.isDone && !row.isPinned {
            examined += 1
            place = row.stamp.stored
            let isWatched = StoreEviction.watches(row.key)
            switch pass.examine(row.key, row.stamp, uses: row.uses, isWatched: isWatched, &policy) {
            case .keep: break
            case .evict:
                victims.append(row.key)
                pass.count(row.size)
            case .move(let stamp):
                guard let index = rows.firstIndex(where: { $0.key == row.key }) else { continue }
                rows[index].stamp = stamp
                rows[index].uses = nil
            }
        }
        while let key = pass.next(policy), let row = rows.first(where: { $0.key == key }) {
            victims.append(key)
            pass.count(row.size)
        }
        pass.finish(&policy, of: budget)
        for row in rows where victims.contains(row.key) {
            policy.evict(row.key, row.uses.map(row.stamp.used) ?? row.stamp, now: now)
        }
        rows.removeAll { victims.contains($0.key) }
        rows.sort { $0.stamp.stored < $1.stamp.stored }
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
        #expect(victims.map(\.count) == [1, 1])
    }

    /// A pass examines at most 48 times the bytes that it needs, and one entry more.
    @Test mutating func passIsBounded() {
        for key in 0..<10_000 as Range<Int64> { index.insert(key) }
        let victims = index.evict(10_000)
        #expect(victims.count == 10)
        #expect(index.examined <= 470)
    }

    /// A large entry behind them is the better victim.
    @Test mutating func passForAFewBytesIsNotSatisfiedWithAFewSmallEntries() {
        for key in 0..<20 as Range<Int64> { index.insert(key) }
        index.insert(20, size: 200_000)
        for key in 21..<10_000 as Range<Int64> { index.insert(key) }
        #expect(index.evict(100) == [20])
        #expect(index.examined <= 65)
    }

    /// A transaction evicts a limited number of entries, so a pass examines 48 times as many.
    @Test mutating func passIsBoundedByTheEntriesOfATransaction() {
        for key in 0..<10_000 as Range<Int64> { index.insert(key) }
        let victims = [index.evict(1_000_000, atMost: 10), index.evict(1_000_000, atMost: 10)]
        #expect(victims.map(\.count) == [10, 10])
        #expect(index.examined <= 962)
    }

    /// Earlier programs wrote no sizes, so the caller reads the rows of these entries.
    @Test func passExaminesFewEntriesOfEarlierPrograms() {
        var policy = StoreEviction(budget: 1 << 20)
        var pass = EvictionPass(needed: 1 << 20, atMost: 10, now: 1_000)
        var examined = 0
        for id in 1...1_000 as ClosedRange<Int64> where !pass.isDone {
            examined += 1
            let stamp = UseStamp(number: id, quarters: 4, size: nil)
            let decision = pass.examine(id, stamp, sizeInRow: 1_000, uses: nil, isWatched: false, &policy)
            #expect(decision == .keep)
        }
        #expect(examined == 40)
    }

    /// If only the first use in a period is recorded, everything may have been used just now. A
    /// limit learned from that would make everything due.
    @Test mutating func entriesUsedJustNowDoNotSetTheLimit() {
        for key in 1..<4 as Range<Int64> { index.insert(key) }
        for row in index.rows.indices { index.rows[row].uses = RecordedUses(count: 1, number: index.now) }
        let first = index.evict(1)
        index.now += 100
        index.use(2)
        let second = index.evict(1)
        #expect([first, second] == [[1], [3]])
    }

    /// A move is a write. So an entry that was used stays where it is until it would be evicted,
    /// unless it is watched or its record is about to be lost.
    @Test(arguments: [(1, false, false), (8, false, true), (1, true, true)] as [(Int64, Bool, Bool)])
    func usedEntriesMoveOnlyIfTheyMust(id: Int64, isExpiring: Bool, moves: Bool) {
        var policy = StoreEviction(budget: 1 << 20)
        let stamp = policy.insert(1, size: 5_000, number: 1, replacing: nil)
        var pass = EvictionPass(needed: 1_000, now: 10)
        let uses = RecordedUses(count: 1, number: 5, isExpiring: isExpiring)
        let isWatched = StoreEviction.watches(id)
        let decision = pass.examine(id, stamp, uses: uses, isWatched: isWatched, &policy)
        #expect(decision == (moves ? .move(stamp.used(uses)) : .keep))
    }

    @Test mutating func dueEntryThatWasUsedMoves() {
        for key in 1..<4 as Range<Int64> { index.insert(key) }
        _ = index.evict(1)
        index.now += 1_000
        index.use(2)
        let victims = index.evict(1)
        #expect(victims == [3])
        #expect(index.rows.first?.stamp.number == index.now)
    }

    /// If no entry is due, the one that will be due first leaves, although it is the newest.
    @Test mutating func entryThatWillBeDueFirstLeavesFirst() {
        for key in 0..<4 as Range<Int64> { index.insert(key, size: 2_000) }
        for _ in 0..<3 {
            for key in 1..<4 as Range<Int64> { index.use(key) }
        }
        let first = index.evict(1)
        index.insert(100, size: 200_000)
        let second = index.evict(1)
        #expect([first, second] == [[0], [100]])
    }

    @Test mutating func entryThatComesBackKeepsItsUses() throws {
        index.insert(1)
        for _ in 0..<3 { index.use(1) }
        let victims = index.evict(1)
        #expect(victims == [1])
        index.insert(1)
        #expect(try #require(index.rows.first).stamp.quarters > 8)
    }

    /// Uses count if at most as many entries were evicted since as the store has. Otherwise old
    /// popularity would come back.
    @Test(arguments: [(100, true), (250, false)] as [(Int64, Bool)])
    func entryThatComesBackSoonHasUses(evictions: Int64, hasUses: Bool) throws {
        var index = Index(budget: 16_000_000)
        index.insert(1, size: 100_000)
        for _ in 0..<3 { index.use(1) }
        _ = index.evict(1)
        for key in 2..<2 + evictions {
            index.insert(key, size: 100_000)
            _ = index.evict(1)
        }
        index.insert(1, size: 100_000)
        #expect(try #require(index.rows.last).stamp.quarters == (hasUses ? 12 : 0))
    }

    /// A use in an outage is recorded twice, so it counts as much as two.
    @Test mutating func entryNeededInAnOutageOutlivesOthersOfItsAge() {
        for key in 0..<20 as Range<Int64> { index.insert(key) }
        let needed: Set<Int64> = [0, 1, 2, 3, 4]
        for key in 0..<20 as Range<Int64> {
            index.use(key)
            if needed.contains(key) { index.use(key) }
        }
        index.now += 1_000
        let victims = index.evict(3_000)
        #expect(victims.count == 3)
        #expect(needed.isDisjoint(with: victims))
    }

    @Test mutating func damagedEntryLeavesFirst() {
        for key in 0..<10 as Range<Int64> { index.insert(key) }
        index.rows[9].stamp.number = -1
        index.use(9)
        index.rows.sort { $0.stamp.stored < $1.stamp.stored }
        let victims = index.evict(1)
        #expect(victims == [9])
    }

    /// After the due entries are gone, all others may be too young to be due.
    @Test mutating func passFindsVictimsAmongYoungEntries() {
        for key in 0..<10 as Range<Int64> { index.insert(key, size: 300_000) }
        let first = index.evict(1)
        index.now += 1
        let victims = [index.evict(1), index.evict(1)]
        #expect(first == [0])
        #expect(victims == [[1], [2]])
    }

    /// Small entries that are worth keeping are fewer bytes than the pass needs. It takes the large
    /// ones after them, although those are too young to be due.
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
            let numbers = (0..<2).map { _ in Int64.random(in: 0..<1 << 50, using: &random) }
            let stamps = numbers.map {
                UseStamp(
                    number: $0,
                    quarters: Int.random(in: 0...15, using: &random),
                    size: SizeClass(size: Int64.random(in: 0...1 << 30, using: &random))
                )
            }
            #expect(stamps.map { UseStamp(stored: $0.stored) } == stamps)
            #expect((numbers[0] < numbers[1]) == (stamps[0].stored < stamps[1].stored) || numbers[0] == numbers[1])
        }
    }

    /// Earlier programs stored the number alone, and later the number and the uses.
    @Test func stampsOfEarlierProgramsAreBeforeEveryStamp() {
        let position = UseStamp(stored: 1_000_000)
        let stamp = UseStamp(stored: 1 << 48 + 1_000_000 << 4 + 7)
        #expect(position == UseStamp(number: 1_000_000, quarters: 4, size: nil))
        #expect(stamp == UseStamp(number: 1_000_000, quarters: 7, size: nil))
        #expect(stamp.stored == 1 << 48 + 1_000_000 << 4 + 7)
        let latest = UseStamp(number: 1 << 50, quarters: 15, size: nil)
        #expect(UseStamp(number: 0, quarters: 0, size: SizeClass(size: 0)).stored > latest.stored)
        #expect(UseStamp(stored: -1).stored == -1)
    }

    @Test func usesAreBounded() {
        let size = SizeClass(size: 5_000)
        var stamp = UseStamp(number: 1, quarters: 0, size: size)
        for number in 2..<100 as Range<Int64> { stamp = stamp.used(.init(count: 1, number: number)) }
        #expect(stamp == UseStamp(number: 99, quarters: 15, size: size))
        #expect(stamp.used(.init(count: .max, number: 5)).number == 99)
    }

    @Test func sizesAreAlmostExact() throws {
        var random = SeededRandom(seed: 1)
        for _ in 0..<10_000 {
            let size = Int64.random(in: 1 << 10..<1 << 11, using: &random) << Int64.random(in: 0...14, using: &random)
            let kind = SizeClass(size: size)
            #expect(abs(Double(kind.size) / Double(size) - 1) < 0.092, "\(size)")
            #expect(SizeClass(size: kind.size) == kind)
            #expect(try #require(SizeClass(number: Int64(kind.number))) == kind)
        }
    }

    @Test(arguments: [(0, 1 << 10), (1 << 10, 1 << 10), (1 << 40, 47_448_064)] as [(Int64, Int64)])
    func sizesAreBounded(size: Int64, counted: Int64) {
        #expect(abs(SizeClass(size: size).size - counted) < 1_000)
    }
}

@Suite(.timeLimit(.minutes(20))) struct GhostTableTests {
    private func moment(_ number: Int64) -> GhostTable.Moment { .init(number: number, evictions: number) }

    @Test func newGhostsReplaceTheOldest() {
        var table = GhostTable(capacity: 1024)
        for key in 0..<10_000 as Range<Int64> { table.add(key, quarters: 3, lastUse: key, now: moment(key)) }
        let kept = (0..<10_000 as Range<Int64>).filter { table.take($0, now: moment(10_000)) != nil }
        #expect(kept.count <= 1024 && kept.count > 900)
        #expect(kept.count { $0 < 5_000 } < 30)
    }

    @Test func ghostIsWhatWasAdded() {
        var table = GhostTable(capacity: 8)
        table.add(-7, quarters: 15, lastUse: 1 << 40, now: moment(1 << 40))
        table.add(-7, quarters: 9, lastUse: 1 << 40 - 128, now: moment(1 << 40))
        let ghost = table.take(-7, now: moment(1 << 40 + 6_400))
        #expect(ghost == .init(quarters: 9, age: 6_528, evictions: 6_400))
        #expect(table.take(-7, now: moment(1 << 40)) == nil)
    }
}
