import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import TestSupport
import Testing

@testable import OfflineStore

/// The operations of operators on a store: purges of several scopes, and counts of them.
@Suite(.timeLimit(.minutes(20))) struct StoreOperationsTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    private func put(
        _ url: String,
        _ store: CacheManager,
        fresh: Duration = .seconds(60),
        tags: [String] = []
    ) async throws {
        let key = StoreKey(partition: .common, method: .get, target: try TargetURI(url))
        try await store.store(draft(key, at: clock.now(), freshFor: fresh, tags: tags), "x")
    }

    private func isMarked(_ url: String, _ store: CacheManager) async throws -> Bool? {
        let key = StoreKey(partition: .common, method: .get, target: try TargetURI(url))
        return try await store.responses.lookup(key).first?.head.isInvalidated
    }

    private static let urls = [
        "https://a.example/v1/1", "https://a.example/v1/2", "https://a.example/v2/1", "http://a.example:81/x",
        "https://b.example/x",
    ]

    private func fill(_ store: CacheManager) async throws {
        for (index, url) in Self.urls.enumerated() {
            try await put(url, store, tags: index.isMultiple(of: 2) ? ["even", "all"] : ["all"])
        }
        try await store.setObject(1, forKey: "an object")
    }

    /// Some scopes, and the responses that they cover.
    private static func scopes() throws -> [(scopes: [InvalidationScope], urls: Set<String>)] {
        [
            ([.target(try TargetURI(urls[0]))], [urls[0]]),
            ([.prefix(try TargetPrefix("https://a.example/v1/"))], [urls[0], urls[1]]),
            ([.host(try TargetHost("a.example"))], Set(urls[..<4])),
            ([.tag("even")], [urls[0], urls[2], urls[4]]),
            ([.tag("even"), .host(try TargetHost("a.example")), .target(try TargetURI(urls[0]))], Set(urls)),
            ([.tag("none"), .host(try TargetHost("none.example"))], []), ([.all], Set(urls)),
        ]
    }

    @Test(arguments: [true, false], [0, 8 << 20])
    func countEqualsWhatIsInvalidated(keepingForOffline: Bool, memory: Int) async throws {
        for (index, (scopes, covered)) in try Self.scopes().enumerated() {
            let store = try await openStore(folder.path + "/\(index)", clock: clock) { $0.memoryBudget = memory }
            try await fill(store)
            let before = try await store.count(scopes, examining: 1000)
            #expect(before.responses == covered.count && before.isExact && before.onlyOfflineCopies == 0)
            #expect((before.bytes > 0) == !covered.isEmpty)
            let last = store.invalidationSequence
            let done = try await store.invalidate(scopes, keepingForOffline: keepingForOffline)
            #expect(done.sequence.number == last.number + Int64(scopes.count) && !done.coversEverything)
            for url in Self.urls {
                let expected: Bool? = covered.contains(url) ? (keepingForOffline ? true : nil) : false
                #expect(try await isMarked(url, store) == expected, "\(scopes) \(url)")
            }
            // Before the sweep and after it.
            for _ in 0..<2 {
                let after = try await store.count(scopes, examining: 1000)
                #expect(after.responses == (keepingForOffline ? covered.count : 0))
                #expect(after.onlyOfflineCopies == after.responses && after.isExact)
                try await store.settle()
            }
            #expect(try await store.statistics().objects == 1)
            try await store.close()
        }
    }

    @Test func hostIsPurgedAfterACrashBeforeTheSweep() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fill(store)
        try await store.core.write { context in
            _ = try context.invalidate(.host(TargetHost("a.example")), .remove, at: Timestamp(milliseconds: 0))
        }
        try copyFolder(folder.store, to: folder.path + "/copy")
        let reader = try await openReadOnly(folder.path + "/copy", clock: clock)
        #expect(try await reader.count([.all], examining: 1).responses == 1)
        try await reader.close()
        let copy = try await openStore(folder.path + "/copy", clock: clock)
        #expect(try await copy.count([.all], examining: 1).responses == 1)
        #expect(try await isMarked(Self.urls[4], copy) == false)
        try await copy.close()
        try await store.close()
    }

    @Test func noFillThatBeganBeforeAHostIsPurgedIsStored() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = StoreKey(partition: .common, method: .get, target: try TargetURI("https://a.example:444/x"))
        let fencingNumber = store.responses.invalidationSequence
        _ = try await store.invalidate([.host(try TargetHost("a.example"))], keepingForOffline: true)
        try await store.settle()
        let writer = try #require(
            try await store.responses.beginWrite(draft(key, at: clock.now()), fencingNumber: fencingNumber)
        )
        #expect(try await writer.finish() == nil)
        #expect(try await store.responses.lookup(key).isEmpty)
        try await store.close()
    }

    @Test(arguments: [true, false]) func manyPrefixesDoNotBecomeEverything(keepingForOffline: Bool) async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fill(store)
        let scopes = try (0..<200).map { InvalidationScope.prefix(try TargetPrefix("https://c.example/\($0)/")) }
        let done = try await store.invalidate(scopes, keepingForOffline: keepingForOffline)
        #expect(!done.coversEverything)
        for url in Self.urls { #expect(try await isMarked(url, store) == false) }
        try await store.close()
    }

    @Test func staleResponsesAreOfflineCopies() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await put("https://a.example/fresh", store, fresh: .seconds(100))
        try await put("https://a.example/stale", store, fresh: .seconds(5))
        let strict = StoreKey(partition: .common, method: .get, target: try TargetURI("https://a.example/strict"))
        try await store.store(draft(strict, at: clock.now(), freshFor: .seconds(5), isUsableStale: false), "x")
        clock.advance(by: .seconds(10))
        // An expiry would end its use.
        let only = StoreKey(partition: .common, method: .get, target: try TargetURI("https://a.example/only"))
        try await store.store(draft(only, at: clock.now(), freshFor: .seconds(100), isUsableStale: false), "x")
        for scope in [InvalidationScope.all, .host(try TargetHost("a.example"))] {
            let count = try await store.count([scope], examining: 1000)
            #expect(count.responses == 4 && count.onlyOfflineCopies == 1 && count.onlyWhileFresh == 1)
        }
        try await store.close()
    }

    @Test func numbersBeyondTheLimitAreEstimates() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for index in 0..<400 { try await put("https://a.example/\(index)", store, tags: ["t"]) }
        let exact = try await store.count([.tag("t")], examining: 400)
        for scope in [InvalidationScope.tag("t"), .host(try TargetHost("a.example"))] {
            let estimate = try await store.count([scope], examining: 100)
            #expect(!estimate.isExact)
            #expect((380...420).contains(estimate.responses), "\(estimate)")
            #expect(abs(estimate.bytes - exact.bytes) < exact.bytes / 10, "\(estimate) \(exact)")
        }
        #expect(exact.responses == 400)
        try await store.close()
    }

    @Test func exactlyAsManyRowsAsTheLimitAreCounted() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for index in 0..<100 { try await put("https://a.example/\(index)", store, tags: ["t"]) }
        for scope in [InvalidationScope.tag("t"), .host(try TargetHost("a.example"))] {
            for (limit, isExact) in [(101, true), (100, true), (99, false)] {
                let count = try await store.count([scope], examining: limit)
                #expect(count.isExact == isExact && count.responses == 100, "\(scope) \(limit) \(count)")
            }
        }
        try await store.close()
    }

    @Test func limitIsForAllScopesTogether() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for index in 0..<300 { try await put("https://a.example/\(index)", store, tags: ["t\(index % 3)"]) }
        let tags = (0..<3).map { InvalidationScope.tag("t\($0)") }
        #expect(try await store.count(tags, examining: 300).isExact)
        var counting = ScopeCounting(core: store.core, now: clock.now(), limit: 150)
        let count = try counting.count(tags)
        // The first tag is whole, the second by its half, the third by the least number.
        #expect(!count.isExact && (285...315).contains(count.responses), "\(count)")
        #expect(counting.left == 150 - 100 - 64 - 64)
        try await store.close()
    }

    @Test func everythingBeyondTheIndexLimitIsEstimated() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for index in 0..<400 { try await put("https://a.example/\(index)", store) }
        for (limit, isExact) in [(400, true), (399, false)] {
            var counting = ScopeCounting(core: store.core, now: clock.now(), limit: 100, indexLimit: limit)
            let count = try counting.count([.all])
            #expect(count.isExact == isExact && (380...420).contains(count.responses), "\(count)")
        }
        try await store.close()
    }

    @Test func countingEndsWithItsTask() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await put("https://a.example/1", store, tags: ["t"])
        let scopes: [InvalidationScope] = [.tag("t"), .host(try TargetHost("a.example"))]
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await store.count(scopes, examining: 10)
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await store.close()
    }

    @Test func purgesOfPrefixesInARowDoNotPurgeEverything() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fill(store)
        // Three purges of 32 prefixes exceed the 64 that the store compares at a time, if it has
        // not applied the first of them.
        for client in 0..<6 {
            let scopes = try (0..<32).map { number in
                InvalidationScope.prefix(try TargetPrefix("https://c.example/\(client)/\(number)/"))
            }
            #expect(try await !store.invalidate(scopes, keepingForOffline: true).coversEverything)
        }
        for url in Self.urls { #expect(try await isMarked(url, store) == false) }
        try await store.close()
    }

    @Test func conditionNamesWhatIsWrong() async throws {
        let store = try await openStore(folder.store, clock: clock)
        #expect(await store.storeCondition() == .usable)
        let reader = try await openReadOnly(folder.store, clock: clock)
        #expect(await reader.storeCondition() == .readOnly)
        try await reader.close()
        try await store.close()
        guard case .unreadable = await store.storeCondition() else {
            Issue.record("a closed store cannot be read")
            return
        }
    }
}
