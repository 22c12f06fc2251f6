import HTTPCache
import HTTPCacheSemantics
import Testing

@testable import OfflineStore
@testable import StoreMemory

@Suite(.timeLimit(.minutes(20))) final class MemoryShardTests {
    private static let usable = 50_000

    private var shard = MemoryShard(budget: usable)
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
        for hash in 200..<330 { _ = insert(Int64(hash), cost: 500) }
        #expect(find(1) != nil && find(2) == nil)
    }

    @Test func fullShardAdmitsOnTheSecondRead() {
        #expect(admits(500, cost: Self.usable) && !admits(501, cost: Self.usable + 1))
        for hash in 1...100 { _ = insert(Int64(hash), cost: 500) }
        #expect(admits(1, cost: 500), "it is in memory already")
        #expect(!admits(600, cost: 500) && admits(600, cost: 500))
        // It remembers as many hashes as it has entries.
        for hash in 700..<800 { #expect(!admits(Int64(hash), cost: 500)) }
        #expect(!admits(600, cost: 500))
    }

    /// Compares with a dictionary after every step. A failure names its seed.
    @Test(arguments: 0..<30 as Range<UInt64>) func containsWhatWasInsertedAndHasNotLeft(seed: UInt64) throws {
        var random = SplitMix(state: seed)
        var shard = MemoryShard(budget: 20_000)
        var model: [Int64: Model] = [:]
        for step in 0..<2000 {
            let hash = Int64(random.below(60))
            var gone: [MemoryEntry] = []
            var expectedGone: [String] = []
            let place = shard.find(hash, Array("\(hash)".utf8))
            switch random.below(12) {
            case 0...3:
                let cost = random.below(20) == 0 ? 5000 + random.below(3) : 100 + random.below(900)
                let generation = shard.insert(hash, Self.entry("\(hash)"), cost: cost, gone: &gone)
                #expect((generation == nil) == (cost > 5000), "seed \(seed), step \(step)")
                let former = model.removeValue(forKey: hash)
                if former != nil { expectedGone.append("\(hash)") }
                if let generation {
                    model[hash] = Model(cost: cost, generation: generation, period: former?.period ?? 0)
                }
            case 4...7:
                let period = UInt32(1 + step / 500)
                let isFirst = place.flatMap { shard.use($0, period: period)?.isFirst }
                #expect(isFirst == model[hash].map { $0.period != period }, "seed \(seed), step \(step)")
                model[hash]?.period = period
            case 8:
                let (bytes, generation) = (random.below(400), UInt32(random.below(step + 1)))
                shard.grow(hash, generation: generation, by: bytes, gone: &gone)
                if model[hash]?.generation == generation { model[hash]?.cost += bytes }
            case 9:
                let cost = 100 + random.below(900)
                let isAdmitted = shard.admits(hash, cost: cost)
                #expect(isAdmitted || shard.cost + cost > shard.budget && place == nil, "seed \(seed), step \(step)")
            case 10:
                shard.removeChanged(hash, gone: &gone)
                if model.removeValue(forKey: hash) != nil { expectedGone.append("\(hash)") }
            default:
                guard random.below(100) == 0 else { continue }
                shard.removeAll()
                model = [:]
            }
            // Entries that are gone and were not replaced or removed were evicted.
            var names = gone.map { String(decoding: $0.key, as: UTF8.self) }
            for name in expectedGone { names.remove(at: try #require(names.firstIndex(of: name))) }
            for name in names {
                let evicted = try #require(Int64(name))
                try #require(model[evicted] != nil, "seed \(seed), step \(step)")
                model[evicted] = nil
            }
            let found = (0..<60 as Range<Int64>).filter { shard.find($0, Array("\($0)".utf8)) != nil }
            try #require(found == model.keys.sorted(), "seed \(seed), step \(step)")
            let cost = model.values.reduce(0) { $0 + $1.cost }
            #expect(shard.cost == cost && shard.count == model.count, "seed \(seed), step \(step)")
            #expect(cost <= shard.budget, "seed \(seed), step \(step)")
        }
    }
}

private struct Model {
    var cost: Int
    var generation: UInt32
    var period: UInt32
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
