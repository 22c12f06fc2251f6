import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import TestSupport
import Testing

@testable import OfflineStore

@Suite(.timeLimit(.minutes(20))) struct QuotaTests {
    let folder: TemporaryFolder
    let clock = ManualClock()
    var path: String { folder.store + "/0001.sqlite" }

    init() throws { folder = try TemporaryFolder() }

    private func open(_ quotas: [CacheManager.Quota]) async throws -> CacheManager {
        try await openStore(folder.store, clock: clock) { $0.quotas = quotas }
    }

    private func key(_ uri: String) throws -> StoreKey {
        StoreKey(partition: .common, method: .get, target: try TargetURI(uri))
    }

    private func bytes(ofTag name: String) throws -> Int64 {
        try queryInteger(path, "SELECT coalesce(max(octets), 0) FROM tag WHERE CAST(name AS TEXT) = '\(name)'")
    }

    private func isStored(_ name: String, in store: CacheManager) async throws -> Bool {
        try await store.responses.lookup(try cacheKey(name)).isEmpty == false
    }

    @Test func quotaEvictsTheLeastRecentlyUsedOfATag() async throws {
        let store = try await open([.tag("thumbnails", bytes: 500_000)])
        try await store.store(draft(try cacheKey("/other"), at: clock.now(), tags: ["other"]), [pattern(10_000)])
        for index in 0..<150 {
            let draft = draft(try cacheKey("/\(index)"), at: clock.now(), tags: ["thumbnails", "other"])
            try await store.store(draft, [pattern(10_000)])
            _ = try await store.responses.lookup(try cacheKey("/3"))
        }
        try await store.settle()
        let bytes = try bytes(ofTag: "thumbnails")
        #expect(bytes <= 500_000 && bytes > 400_000, "\(bytes)")
        #expect(try await isStored("/149", in: store))
        #expect(try await isStored("/3", in: store))
        #expect(try await isStored("/4", in: store) == false)
        #expect(try await isStored("/other", in: store))
        let statistics = try await store.statistics()
        #expect(statistics.responses + statistics.evictedEntries == 151)
        #expect(statistics.evictedBytes > 10_000 * Int64(statistics.evictedEntries))
        try await store.close()
    }

    /// More entries with the tag than one step examines: the oldest numbers are in use, and those
    /// in the middle are evicted.
    @Test func quotaEvictsByUseNotByOrderOfStoring() async throws {
        let store = try await open([.tag("t", bytes: 2_600_000)])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<1500 {
                if index >= 32 { try await group.next() }
                group.addTask {
                    try await store.store(
                        draft(try cacheKey("/\(index)"), at: clock.now(), tags: ["t"]),
                        [pattern(100)]
                    )
                }
            }
            try await group.waitForAll()
        }
        #expect(try await store.statistics().responses == 1500)
        for index in 0..<700 { _ = try await store.responses.lookup(try cacheKey("/\(index)")) }
        for index in 0..<20 {
            try await store.store(
                draft(try cacheKey("/big-\(index)"), at: clock.now(), tags: ["t"]),
                [pattern(100_000)]
            )
        }
        try await store.settle()
        #expect(try bytes(ofTag: "t") <= 2_600_000)
        #expect(try await store.statistics().evictedEntries > 100)
        for index in 0..<700 where try await isStored("/\(index)", in: store) == false {
            Issue.record("'/\(index)' was used and has gone")
        }
        for index in 0..<20 where try await isStored("/big-\(index)", in: store) == false {
            Issue.record("'/big-\(index)' is new and has gone")
        }
        try await store.close()
    }

    @Test func pinnedEntriesStayBeyondTheQuota() async throws {
        let store = try await open([.tag("t", bytes: 200_000)])
        for index in 0..<3 {
            let key = try cacheKey("/pinned-\(index)")
            try await store.store(draft(key, at: clock.now(), tags: ["t"]), [pattern(60_000)])
            let entry = try #require(try await store.entries(for: key.components.target).first)
            #expect(try await store.setPinned(true, entry))
        }
        for index in 0..<20 {
            try await store.store(draft(try cacheKey("/\(index)"), at: clock.now(), tags: ["t"]), [pattern(60_000)])
        }
        try await store.settle()
        for index in 0..<3 { #expect(try await isStored("/pinned-\(index)", in: store)) }
        #expect(try await store.statistics().responses == 3)
        try await store.close()
    }

    @Test func originsHaveTheirOwnQuotaOrTheGeneralOne() async throws {
        let store = try await open([
            .origin("https://A.example:443", bytes: 500_000), .everyOrigin(bytes: 200_000),
        ])
        for index in 0..<40 {
            for origin in ["https://a.example", "https://b.example", "http://b.example", "https://b.example:8443"] {
                try await store.store(draft(try key("\(origin)/\(index)"), at: clock.now()), [pattern(20_000)])
            }
        }
        try await store.settle()
        var bytes: [String: Int64] = [:]
        for try await entry in store.entries() {
            guard case .response(let key) = entry.key else { continue }
            bytes["\(key.components.target.scheme)://\(key.components.target.authority)", default: 0] +=
                entry.bodyLength
            // Their bytes are summed under internal tags, which are not shown.
            #expect(try await store.tags(of: entry).isEmpty)
        }
        #expect(bytes.count == 4)
        for (origin, bytes) in bytes {
            #expect(
                origin == "https://a.example"
                    ? (400_000...500_000).contains(bytes) : (150_000...200_000).contains(bytes)
            )
        }
        // No call can name one either.
        try await store.removeResponses(tagged: "https://b.example")
        try await store.removeResponses(tagged: "\u{ff}https://b.example")
        #expect(try await store.responses.lookup(try key("https://b.example/39")).count == 1)
        try await store.close()
    }

    @Test func originsWithoutAQuotaAreNotCounted() async throws {
        let store = try await open([.tag("t", bytes: 1 << 20), .origin("https://other.example", bytes: 1000)])
        try await store.store(draft(try cacheKey("/x"), at: clock.now()), "x")
        #expect(try queryInteger(path, "SELECT count(*) FROM tag") == 0)
        try await store.close()
    }

    @Test func responseLargerThanItsQuotaIsNotStored() async throws {
        let store = try await open([.tag("small", bytes: 20_000), .everyOrigin(bytes: 40_000)])
        let fencingNumber = store.responses.invalidationSequence
        func begin(_ length: StatedLength?, _ tags: [String]) async throws -> (any StoredResponseWriter)? {
            let draft = draft(try cacheKey("/x"), at: clock.now(), expectedLength: length, tags: tags)
            return try await store.responses.beginWrite(draft, fencingNumber: fencingNumber)
        }
        #expect(try await begin(20_000, ["small"]) == nil)
        #expect(try await begin(10_000, ["small"]) != nil)
        #expect(try await begin(39_000, ["other"]) != nil)
        #expect(try await begin(41_000, []) == nil)
        // A length that was not announced.
        let writer = try #require(try await begin(nil, ["small"]))
        try await writer.append(pattern(15_000))
        #expect(await code { try await writer.append(pattern(15_000)) } == .tooLarge)
        #expect(await code { _ = try await writer.finish() } == .closed)
        #expect(try await isStored("/x", in: store) == false)

        let response = RawResponse(status: .ok, fields: [:], body: pattern(30_000))
        let text = await message {
            try await store.setResponse(response, for: try cacheKey("/x"), expiry: .never, tags: ["other", "small"])
        }
        #expect(text.contains("20000 bytes") && text.contains("the tag 'small'"), "\(text)")
        try await store.setResponse(response, for: try cacheKey("/x"), expiry: .never, tags: ["other"])
        #expect(try await isStored("/x", in: store))
        try await store.close()
    }

    /// Quotas that are smaller than the stored bytes are enforced after opening, even if the store
    /// does not grow.
    @Test func reopeningWithASmallerQuotaEvicts() async throws {
        var store = try await open([.everyOrigin(bytes: 10 << 20)])
        for index in 0..<520 {
            let draft = draft(try cacheKey("/\(index)"), at: clock.now(), tags: ["t", "a-\(index)", "b-\(index)"])
            try await store.store(draft, [pattern(1000)])
        }
        #expect(try await store.statistics().responses == 520)
        try await store.close()
        store = try await open([.tag("t", bytes: 500_000)])
        try await store.settle()
        #expect((400_000...450_000).contains(try bytes(ofTag: "t")))
        try await store.close()
        store = try await open([.everyOrigin(bytes: 200_000)])
        try await store.settle()
        #expect((160_000...180_000).contains(try bytes(ofTag: "t")))
        try await store.close()
    }

    @Test(
        arguments: [
            ([.tag("t", bytes: 0)], "is too small"),
            ([.everyOrigin(bytes: -1)], "is too small"),
            ([.tag("", bytes: 1)], "1 to 1024 bytes"),
            ([.origin("a.example", bytes: 1)], "not an origin"),
            ([.origin("https://a.example/path", bytes: 1)], "not an origin"),
            ([.tag("t", bytes: 1), .tag("t", bytes: 2)], "two quotas for the tag 't'"),
            ([.origin("https://a.example", bytes: 1), .origin("https://A.example:443/", bytes: 2)], "two quotas"),
            ([.everyOrigin(bytes: 1), .everyOrigin(bytes: 2)], "two quotas"),
        ] as [([CacheManager.Quota], String)]
    )
    func invalidQuotasAreRejected(_ quotas: [CacheManager.Quota], _ words: String) async {
        let text = await message { _ = try await open(quotas) }
        #expect(text.contains(words), "\(text)")
        #expect(await code { _ = try await open(quotas) } == .invalidConfiguration)
    }
}
