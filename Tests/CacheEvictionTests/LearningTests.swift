import HoldfastTesting
import Testing

@testable import CacheEviction

/// A plain LRU cache, by which the policy judges itself.
private struct LRU {
    let budget: Int
    var entries: [Int64: (size: Int, use: Int)] = [:]
    var order: [(key: Int64, use: Int)] = []
    var oldest = 0
    var bytes = 0

    /// Returns whether the entry was missing.
    mutating func request(_ key: Int64, size: Int) -> Bool {
        let isMiss = entries[key] == nil
        if isMiss { bytes += size }
        entries[key] = (size, order.count)
        order.append((key, order.count))
        while bytes > budget {
            let (key, use) = order[oldest]
            oldest += 1
            guard let entry = entries[key], entry.use == use else { continue }
            entries[key] = nil
            bytes -= entry.size
        }
        return isMiss
    }
}

@Suite(.timeLimit(.minutes(20))) struct LearningTests {
    /// Requests for 5,000 entries, of which some are more popular.
    private static func requests(seed: UInt64, count: Int) -> [(key: Int64, size: Int)] {
        var random = SeededRandom(seed: seed)
        let sizes = (0..<5_000).map { _ in Int.random(in: 500..<40_000, using: &random) }
        return (0..<count).map { _ in
            let share = Double.random(in: 0..<1, using: &random)
            let key = Int(share * share * share * 5_000)
            return (Int64(key), sizes[key])
        }
    }

    @Test(arguments: [1 << 20, 5 << 20, 20 << 20]) func estimatesTheBytesThatLRUMisses(budget: Int) throws {
        var lru = LRU(budget: budget)
        var reuse = ReuseTimes()
        var last: [Int64: UInt32] = [:]
        var (bytes, missed) = (0, 0)
        var lead: Double?
        for (index, request) in Self.requests(seed: 1, count: 40_959).enumerated() {
            let isMiss = lru.request(request.key, size: request.size)
            let time = reuse.now
            reuse.add(size: request.size, since: last[request.key], isMiss: isMiss)
            last[request.key] = time
            lead = reuse.leadOverLRU(budget: budget) ?? lead
            if index < 20_000 { continue }
            bytes += request.size
            if isMiss { missed += request.size }
        }
        #expect(missed > bytes / 20, "a cache without misses would prove nothing")
        #expect(abs(try #require(lead)) < 0.02)
    }

    @Test func trustsSizeWhilePopularityStays() {
        var policy = EvictionPolicy(budget: 5 << 20)
        var victims: [EvictionPolicy.Slot] = []
        for request in Self.requests(seed: 2, count: 50_000) {
            if let slot = policy.slot(of: request.key) {
                policy.use(slot)
            } else {
                _ = policy.insert(request.key, size: request.size, victims: &victims)
            }
        }
        #expect(policy.trust > 0.9)
    }

    @Test func becomesLikeLRUWherePastUsesPredictNothing() {
        var random = SeededRandom(seed: 3)
        var policy = EvictionPolicy(budget: 5 << 20)
        var lru = LRU(budget: 5 << 20)
        var victims: [EvictionPolicy.Slot] = []
        var (bytes, missed, missedByLRU) = (0, 0, 0)
        // Each entry is requested four times in a short while, and then never again. Most bytes are
        // in large entries.
        for index in 0..<100_000 {
            let share = Double.random(in: 0..<1, using: &random)
            let key = Int64(index / 4) - Int64(share * share * 600)
            let size = key % 4 == 0 ? 60_000 : 2_000
            let isMissOfLRU = lru.request(key, size: size)
            if index >= 50_000 { bytes += size }
            if index >= 50_000, isMissOfLRU { missedByLRU += size }
            if let slot = policy.slot(of: key) {
                policy.use(slot)
            } else {
                _ = policy.insert(key, size: size, victims: &victims)
                if index >= 50_000 { missed += size }
            }
        }
        #expect(policy.trust < 0.5)
        #expect(Double(missed - missedByLRU) < 0.01 * Double(bytes))
    }
}
