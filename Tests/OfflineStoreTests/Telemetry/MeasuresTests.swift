import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import MetricsTestKit
import NIOCore
import OfflineStore
import TestSupport
import Testing

/// The numbers of a store for metrics, held against what was done.
@Suite(.timeLimit(.minutes(20))) struct MeasuresTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    @Test func durationsAreCountedForTheDiskAlone() async throws {
        let factory = TestMetrics()
        let store = try await openStore(folder.store, clock: clock) { configuration in
            configuration.telemetry = StoreTelemetry(factory: factory)
            configuration.maximumResidentBody = 1000
        }
        func count(_ name: String) throws -> Int {
            try factory.expectTimer("holdfast_store_\(name)_duration_seconds").values.count
        }
        let before = try count("write")
        for number in 0..<10 {
            try await store.store(draft(try cacheKey("/\(number)"), at: clock.now()), [pattern(100)])
        }
        #expect(try count("write") == before + 10)
        // They are in memory.
        let first = try count("read")
        for number in 0..<10 { #expect(try await store.responses.lookup(try cacheKey("/\(number)")).count == 1) }
        #expect(try count("read") == first)
        // Its body is not: four pieces are read, the first one with the body's opening.
        try await store.store(draft(try cacheKey("/long"), at: clock.now()), [pattern(4 * 65_536)])
        let long = try #require(try await store.responses.lookup(try cacheKey("/long")).first)
        let reads = try count("read")
        let body = try #require(try await store.responses.openBody(of: long))
        #expect(try await body.collect(upTo: 1 << 20).readableBytes == 4 * 65_536)
        #expect(try count("read") == reads + 4)
        try await store.close()
        #expect(try count("checkpoint") > 0)
        let reopened = try await openStore(folder.store, clock: clock) { configuration in
            configuration.telemetry = StoreTelemetry(factory: factory)
        }
        let sofar = try count("read")
        #expect(try await reopened.responses.lookup(try cacheKey("/1")).count == 1)
        #expect(try count("read") == sofar + 1)
        try await reopened.close()
    }

    @Test func entriesAreCountedByTheirState() async throws {
        let store = try await openStore(folder.store, clock: clock)
        func put(_ path: String, for lifetime: Duration, isUsableStale: Bool = true) async throws {
            let draft = draft(
                try cacheKey(path),
                at: clock.now(),
                freshFor: lifetime,
                isUsableStale: isUsableStale,
                tags: [path == "/gone" ? "gone" : "kept"]
            )
            try await store.store(draft, [pattern(100)])
        }
        for number in 0..<5 { try await put("/fresh-\(number)", for: .seconds(3600)) }
        for number in 0..<3 { try await put("/stale-\(number)", for: .seconds(10)) }
        for number in 0..<2 { try await put("/unusable-\(number)", for: .seconds(10), isUsableStale: false) }
        try await put("/gone", for: .seconds(3600))
        clock.advance(by: .seconds(60))
        _ = try await store.invalidate([.tag("gone")], keepingForOffline: true)
        _ = try await store.setPinned(true, [.target(try TargetURI("https://api.example/fresh-0"))])
        try await store.settle()
        let statistics = try await store.statistics()
        #expect(statistics.responses == 11)
        #expect(statistics.fresh == 5 && statistics.stale == 3 && statistics.invalidated == 1)
        #expect(statistics.expired == 6)
        #expect(statistics.databaseBytes > 0 && statistics.logBytes >= 0 && statistics.freeBytes >= 0)
        #expect(statistics.usedBytes == statistics.databaseBytes - statistics.freeBytes + statistics.logBytes)
        #expect(statistics.memoryBudget > 0 && statistics.residentBytes <= statistics.memoryBudget)
        #expect(store.pendingWriteBytes == 0)
        try await store.close()
    }

    @Test func usesOfQuotasAreShown() async throws {
        let quotas: [CacheManager.Quota] = [
            .tag("news", bytes: 1 << 20), .tag("unused", bytes: 1000), .origin("https://a.example", bytes: 2 << 20),
            .everyOrigin(bytes: 3 << 20),
        ]
        let store = try await openStore(folder.store, clock: clock) { $0.quotas = quotas }
        for number in 0..<4 {
            let target = try TargetURI("https://\(number < 2 ? "a" : number < 3 ? "b" : "c").example/\(number)")
            let key = StoreKey(partition: .common, method: .get, target: target)
            let length = number == 3 ? 30_000 : 10_000
            let tags = number == 0 ? ["news"] : ["other"]
            try await store.store(draft(key, at: clock.now(), tags: tags), [pattern(length)])
        }
        let uses = try await store.statistics().quotas
        let limits = [
            "each-origin": 3 << 20, "origin:https://a.example": 2 << 20, "tag:news": 1 << 20, "tag:unused": 1000,
        ]
        #expect(uses.map(\.quota) == limits.keys.sorted())
        for use in uses { #expect(use.limit == Int64(limits[use.quota] ?? 0)) }
        let bytes = Dictionary(uniqueKeysWithValues: uses.map { ($0.quota, $0.bytes) })
        func expect(_ quota: String, _ least: Int64) {
            #expect((least..<least + 5000).contains(bytes[quota] ?? -1), "\(quota): \(bytes)")
        }
        expect("tag:news", 10_000)
        expect("origin:https://a.example", 20_000)
        // Of the other origins it is the one with the most.
        expect("each-origin", 30_000)
        #expect(bytes["tag:unused"] == 0)
        try await store.close()
    }
}
