import HTTPCache
import HTTPCacheSemantics
import NIOCore
import TestSupport
import Testing

@testable import OfflineStore

@Suite(.timeLimit(.minutes(20))) struct EvictionOrderTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    /// Stores an expired copy that may be used offline, an object, and then many responses that may
    /// not be used without the origin.
    private func fill(_ order: CacheManager.EvictionOrder, _ quotas: [CacheManager.Quota] = []) async throws
        -> CacheManager
    {
        let store = try await openStore(folder.store, clock: clock, budget: 8 << 20) {
            $0.evictionOrder = order
            $0.quotas = quotas
        }
        try await store.store(
            draft(try cacheKey("/offline"), at: clock.now(), freshFor: .seconds(1), tags: ["t"]),
            [pattern(60_000)]
        )
        try await store.setObject(String(repeating: "o", count: 60_000), forKey: "object", expiry: .after(.seconds(1)))
        clock.advance(by: .seconds(100))
        for index in 0..<100 {
            let draft = draft(
                try cacheKey("/\(index)"),
                at: clock.now(),
                freshFor: .seconds(index == 90 ? 10 : 1000),
                isUsableStale: false,
                tags: ["t"]
            )
            try await store.store(draft, [pattern(60_000)])
        }
        try await store.settle()
        return store
    }

    private func isStored(_ name: String, in store: CacheManager) async throws -> Bool {
        try await store.responses.lookup(try cacheKey(name)).isEmpty == false
    }

    @Test func evictsByRecencyByDefault() async throws {
        #expect(CacheManager.Configuration().evictionOrder == .leastRecentlyUsed)
        let store = try await fill(.leastRecentlyUsed)
        #expect(try await isStored("/offline", in: store) == false)
        #expect(try await store.objectData(forKey: "object") == nil)
        #expect(try await isStored("/90", in: store))
        #expect(try await isStored("/99", in: store))
        try await store.close()
    }

    @Test(arguments: [[], [.tag("t", bytes: 2_000_000)]] as [[CacheManager.Quota]])
    func offlineCopiesOutliveResponsesUselessOffline(_ quotas: [CacheManager.Quota]) async throws {
        let store = try await fill(.keepingOfflineCopies, quotas)
        #expect(try await isStored("/offline", in: store))
        #expect(try await store.objectData(forKey: "object")?.isExpired == true)
        // Of the evicted ones, the first to expire.
        #expect(try await isStored("/90", in: store) == false)
        #expect(try await store.statistics().evictedEntries > 0)
        try await store.close()
    }

    @Test func offlineCopiesAreEvictedByRecency() async throws {
        let store = try await fill(.keepingOfflineCopies)
        for index in 0..<110 {
            try await store.store(draft(try cacheKey("/useful-\(index)"), at: clock.now()), [pattern(60_000)])
        }
        try await store.settle()
        #expect(try await isStored("/99", in: store) == false)
        #expect(try await isStored("/offline", in: store) == false)
        #expect(try await isStored("/useful-0", in: store) == false)
        #expect(try await isStored("/useful-109", in: store))
        try await store.close()
    }

    @Test func candidatesDoNotDependOnTheOrderOfAdding() {
        var generator = SeededGenerator(seed: 5)
        for order in [CacheManager.EvictionOrder.leastRecentlyUsed, .keepingOfflineCopies] {
            let all = (0..<20_000).map { id in
                let recency = Int64.random(in: 0..<1_000_000_000, using: &generator)
                let rank = EvictionRank(
                    order,
                    isUsableStale: id % 50 > 0,
                    expiresAt: Int64.random(in: 0..<1_000_000_000, using: &generator),
                    recency: recency
                )
                return EvictionCandidates.Candidate(
                    id: Int64(id),
                    rank: rank,
                    recency: recency,
                    size: Int64(id % 7) * 100
                )
            }
            var candidates = EvictionCandidates(bytes: 500_000)
            for candidate in all { candidates.add(candidate) }
            var sum: Int64 = 0
            let expected = all.sorted { $0.rank < $1.rank }.prefix { candidate in
                defer { sum += candidate.size }
                return sum < 500_000
            }
            #expect(candidates.take().reversed().map(\.id) == expected.map(\.id))
            #expect(expected.count > 1000 && expected.count < 5000)
        }
    }
}
