import HTTPCache
import HTTPCacheSemantics
import Testing

@testable import OfflineStore
@testable import StoreMemory

@Suite(.timeLimit(.minutes(20))) final class MemoryShardTests {
    /// The usable budget is a little smaller: 16 remembered hashes take 768 bytes.
    private static let budget = 50_768
    private static let usable = 50_000

    private var shard = MemoryShard(budget: budget)
    private var gone: [MemoryEntry] = []

    private static func entry(_ name: String, sequence: Int64 = 0) -> MemoryEntry {
        let object = LoadedObject(
            id: 1,
            storedAt: Timestamp(milliseconds: 0),
            expiresAt: .distantFuture,
            isDistrusted: false,
            typeName: "T",
            bytes: Array(name.utf8)
        )
        return MemoryEntry(
            key: Array(name.utf8),
            value: .object(object),
            subject: InvalidationSubject(keyHash: 1, targetHash: 2),
            sequence: sequence
        )
    }

    private func insert(_ hash: Int64, cost: Int, sequence: Int64 = 0) -> UInt32? {
        shard.insert(hash, Self.entry("\(hash)", sequence: sequence), cost: cost, gone: &gone)
    }

    private func admits(_ hash: Int64, cost: Int) -> Bool { shard.admits(hash, cost: cost) }

    private func use(_ place: Int32, period: UInt32) -> (sequence: Int64, isFirst: Bool)? {
        shard.use(place, period: period).map { ($0.sequence, $0.isFirst) }
    }

    private func find(_ hash: Int64) -> Int32? { shard.find(hash, Array("\(hash)".utf8)) }

    private var goneNames: [String] { gone.map { String(decoding: $0.key, as: UTF8.self) } }

    @Test func budgetIncludesTheRememberedHashes() {
        #expect(shard.budget == Self.usable)
        #expect(MemoryShard(budget: 0).budget == 0)
        #expect(MemoryShard(budget: 40_960_000).budget == 40_960_000 - 10_000 * 48)
    }

    @Test func equalHashOfAnotherKeyIsNotFound() {
        _ = insert(1, cost: 100)
        #expect(find(1) != nil && find(2) == nil)
        #expect(shard.find(1, Array("other".utf8)) == nil)
    }

    @Test func aQuarterOfTheBudgetIsTheLargestEntry() {
        #expect(insert(1, cost: Self.usable / 4) != nil)
        #expect(shard.cost == Self.usable / 4)
        #expect(insert(1, cost: Self.usable / 4 + 1) == nil)
        #expect(find(1) == nil && shard.cost == 0 && goneNames == ["1"], "the former value is outdated")
    }

    @Test func insertingAgainReplacesAndKeepsThePlace() {
        let first = insert(1, cost: 100)
        let second = insert(1, cost: 300)
        #expect(first != second && shard.count == 1 && shard.cost == 300 && goneNames == ["1"])
    }

    @Test func firstUseInEachPeriodIsReported() throws {
        _ = insert(1, cost: 100, sequence: 5)
        let place = try #require(find(1))
        #expect([1, 1, 2, 2, 1].map { use(place, period: $0)?.isFirst } == [true, false, true, false, true])
        #expect(use(place, period: 1)?.sequence == 5)
        shard.setSequence(9, place)
        #expect(use(place, period: 1)?.sequence == 9)
        #expect(shard.subject(place)?.targetHash == 2)
    }

    @Test func onlyChangesOfStoredEntriesChangeTheVersion() {
        _ = insert(1, cost: 100)
        shard.remove(1, gone: &gone)
        #expect(shard.version == 0 && shard.count == 0)
        shard.removeChanged(1, gone: &gone)
        #expect(shard.version == 1, "also of an entry that is not in memory: a read of it may be under way")
        _ = insert(2, cost: 100)
        shard.removeAll()
        #expect(shard.version == 2 && shard.count == 0 && shard.cost == 0 && find(2) == nil)
        #expect(goneNames == ["1"])
    }

    @Test func growthOfAFormerEntryIsIgnored() throws {
        let first = try #require(insert(1, cost: 100))
        let second = try #require(insert(1, cost: 100))
        shard.grow(1, generation: first, by: 50, gone: &gone)
        #expect(shard.cost == 100)
        shard.grow(1, generation: second, by: 50, gone: &gone)
        shard.grow(2, generation: second, by: 50, gone: &gone)
        #expect(shard.cost == 150)
    }

    @Test func growthBeyondTheBudgetEvicts() throws {
        let generation = try #require(insert(1, cost: 100))
        _ = insert(2, cost: 100)
        shard.grow(1, generation: generation, by: Self.usable, gone: &gone)
        #expect(find(1) == nil && goneNames == ["1"] && shard.cost == 100)
    }

    @Test func usedEntriesSurviveManyThatAreReadOnce() throws {
        for hash in 1...10 {
            _ = insert(Int64(hash), cost: 500)
            _ = use(try #require(find(Int64(hash))), period: 1)
        }
        for hash in 100..<400 { _ = insert(Int64(hash), cost: 500) }
        #expect((1...10).allSatisfy { find($0) != nil })
        #expect(shard.cost <= Self.usable)
    }

    @Test func entryThatComesBackSoonSurvivesTheNextReading() {
        for hash in 1...101 { _ = insert(Int64(hash), cost: 500) }
        #expect(find(1) == nil)
        _ = insert(1, cost: 500)
        for hash in 200..<290 { _ = insert(Int64(hash), cost: 500) }
        #expect(find(1) != nil && find(2) == nil)
    }

    @Test func fullShardAdmitsOnTheSecondRead() {
        #expect(admits(500, cost: Self.usable) && !admits(501, cost: Self.usable + 1))
        for hash in 1...100 { _ = insert(Int64(hash), cost: 500) }
        #expect(admits(1, cost: 500), "it is in memory already")
        #expect(!admits(600, cost: 500) && admits(600, cost: 500))
        // The ring remembers 16 hashes.
        for hash in 700..<715 { #expect(!admits(Int64(hash), cost: 500)) }
        #expect(admits(600, cost: 500))
        #expect(!admits(715, cost: 500))
        #expect(!admits(600, cost: 500))
    }

    /// Compares with ``NaiveShard`` after every step. A failure names its seed.
    @Test(arguments: 0..<30 as Range<UInt64>) func isTheShardOfTheNaiveModel(seed: UInt64) throws {
        var random = SplitMix(state: seed)
        var shard = MemoryShard(budget: 20_768)
        var model = NaiveShard(budget: 20_000, ghostLimit: 16)
        var generations: [UInt32] = [0]
        for step in 0..<2000 {
            let hash = Int64(random.below(60))
            var gone: [MemoryEntry] = []
            var modelGone: [Int64] = []
            let place = shard.find(hash, Array("\(hash)".utf8))
            switch random.below(12) {
            case 0...3:
                let cost = random.below(20) == 0 ? 5000 + random.below(3) : 100 + random.below(900)
                let generation = shard.insert(hash, Self.entry("\(hash)"), cost: cost, gone: &gone)
                let expected = model.insert(hash, cost: cost, gone: &modelGone)
                #expect(generation == expected, "seed \(seed), step \(step)")
                if let generation { generations.append(generation) }
            case 4...7:
                let period = UInt32(1 + step / 500)
                let isFirst = place.flatMap { shard.use($0, period: period)?.isFirst }
                let expected = model.use(hash, period: period)
                #expect(isFirst == expected, "seed \(seed), step \(step)")
            case 8:
                let (cost, generation) = (random.below(400), generations[random.below(generations.count)])
                shard.grow(hash, generation: generation, by: cost, gone: &gone)
                model.grow(hash, generation: generation, by: cost, gone: &modelGone)
            case 9:
                let cost = 100 + random.below(900)
                let isAdmitted = shard.admits(hash, cost: cost)
                let expected = model.admits(hash, cost: cost)
                #expect(isAdmitted == expected, "seed \(seed), step \(step)")
            case 10:
                shard.removeChanged(hash, gone: &gone)
                model.remove(hash, gone: &modelGone)
            default:
                guard random.below(100) == 0 else { continue }
                shard.removeAll()
                model.removeAll()
            }
            #expect(gone.map { String(decoding: $0.key, as: UTF8.self) } == modelGone.map { "\($0)" })
            #expect(shard.cost == model.cost && shard.count == model.count, "seed \(seed), step \(step)")
            let found = (0..<60).filter { shard.find($0, Array("\($0)".utf8)) != nil }
            try #require(found == model.hashes, "seed \(seed), step \(step)")
            #expect(shard.cost <= shard.budget)
        }
    }
}

/// The rules of ``MemoryShard`` with arrays, the newest entry first.
private struct NaiveShard {
    struct Entry {
        var hash: Int64
        var cost: Int
        var generation: UInt32
        var frequency = 0
        var period: UInt32 = 0
    }

    let budget: Int
    let ghostLimit: Int
    var small: [Entry] = []
    var main: [Entry] = []
    var ghosts: [Int64] = []
    var remembered: Set<Int64> = []
    var generation: UInt32 = 0

    init(budget: Int, ghostLimit: Int) {
        self.budget = budget
        self.ghostLimit = ghostLimit
    }

    var cost: Int { (small + main).reduce(0) { $0 + $1.cost } }
    var count: Int { small.count + main.count }
    var hashes: [Int64] { (small + main).map(\.hash).sorted() }

    private mutating func change(_ hash: Int64, _ body: (inout Entry) -> Void) -> Bool {
        if let index = small.firstIndex(where: { $0.hash == hash }) {
            body(&small[index])
        } else if let index = main.firstIndex(where: { $0.hash == hash }) {
            body(&main[index])
        } else {
            return false
        }
        return true
    }

    mutating func use(_ hash: Int64, period: UInt32) -> Bool? {
        var isFirst: Bool?
        _ = change(hash) { entry in
            entry.frequency = min(3, entry.frequency + 1)
            isFirst = entry.period != period
            entry.period = period
        }
        return isFirst
    }

    mutating func admits(_ hash: Int64, cost: Int) -> Bool {
        if self.cost + cost <= budget || remembered.contains(hash) || hashes.contains(hash) { return true }
        remember(hash)
        return false
    }

    mutating func insert(_ hash: Int64, cost: Int, gone: inout [Int64]) -> UInt32? {
        guard cost <= budget / 4 else {
            remove(hash, gone: &gone)
            return nil
        }
        generation += 1
        let new = generation
        let isReplaced = change(hash) { ($0.cost, $0.generation) = (cost, new) }
        if isReplaced {
            gone.append(hash)
        } else {
            evict(room: cost, gone: &gone)
            let entry = Entry(hash: hash, cost: cost, generation: new)
            if remembered.contains(hash) { main.insert(entry, at: 0) } else { small.insert(entry, at: 0) }
        }
        evict(room: 0, gone: &gone)
        return new
    }

    mutating func grow(_ hash: Int64, generation: UInt32, by bytes: Int, gone: inout [Int64]) {
        _ = change(hash) { if $0.generation == generation { $0.cost += bytes } }
        evict(room: 0, gone: &gone)
    }

    mutating func remove(_ hash: Int64, gone: inout [Int64]) {
        guard hashes.contains(hash) else { return }
        small.removeAll { $0.hash == hash }
        main.removeAll { $0.hash == hash }
        gone.append(hash)
    }

    mutating func removeAll() { (small, main, ghosts, remembered) = ([], [], [], []) }

    private mutating func evict(room: Int, gone: inout [Int64]) {
        while cost + room > budget {
            if var last = small.last, small.reduce(0, { $0 + $1.cost }) > budget / 10 || main.isEmpty {
                small.removeLast()
                if last.frequency > 0 {
                    last.frequency = 0
                    main.insert(last, at: 0)
                } else {
                    gone.append(last.hash)
                    remember(last.hash)
                }
            } else if var last = main.popLast() {
                last.frequency -= 1
                if last.frequency >= 0 { main.insert(last, at: 0) } else { gone.append(last.hash) }
            } else {
                return
            }
        }
    }

    private mutating func remember(_ hash: Int64) {
        if ghosts.count == ghostLimit { remembered.remove(ghosts.removeFirst()) }
        ghosts.append(hash)
        remembered.insert(hash)
    }
}

private struct SplitMix {
    var state: UInt64

    mutating func below(_ limit: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((value ^ (value >> 31)) % UInt64(limit))
    }
}
