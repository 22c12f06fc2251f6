import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import TestSupport
import Testing

@testable import OfflineStore

/// Pins that operators set on stored responses.
@Suite(.timeLimit(.minutes(20))) struct PinningTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    private static let urls = [
        "https://a.example/v1/1", "https://a.example/v1/2", "https://a.example/v2/1", "https://b.example/x",
    ]

    private func key(_ url: String, _ partition: StoreKey.Partition = .common) throws -> StoreKey {
        StoreKey(partition: partition, method: .get, target: try TargetURI(url))
    }

    private func fill(_ store: CacheManager, length: Int = 1) async throws {
        for (index, url) in Self.urls.enumerated() {
            let tags = index.isMultiple(of: 2) ? ["even", "every"] : ["every"]
            let body = String(repeating: "x", count: length)
            try await store.store(draft(try key(url), at: clock.now(), tags: tags), body)
        }
        try await store.setObject(1, forKey: "an object")
    }

    private func pinned(_ store: CacheManager) async throws -> Set<String> {
        var query = ResponseQuery(limit: 1000)
        query.isPinned = true
        query.showsQueries = true
        return Set(try await store.responses(query).responses.compactMap(\.url))
    }

    /// Some scopes, and the responses that they cover.
    private static func scopes() throws -> [(scopes: [InvalidationScope], urls: Set<String>)] {
        [
            ([.target(try TargetURI(urls[0]))], [urls[0]]),
            ([.key(StoreKey(partition: .common, method: .get, target: try TargetURI(urls[0])))], [urls[0]]),
            ([.prefix(try TargetPrefix("https://a.example/v1/"))], [urls[0], urls[1]]),
            ([.host(try TargetHost("a.example"))], Set(urls[..<3])), ([.tag("even")], [urls[0], urls[2]]),
            ([.tag("every"), .host(try TargetHost("a.example")), .target(try TargetURI(urls[0]))], Set(urls)),
            ([.tag("none"), .host(try TargetHost("none.example"))], []), ([.all], Set(urls)),
        ]
    }

    @Test func pinsAndUnpinsWhatTheScopesCover() async throws {
        for (index, (scopes, covered)) in try Self.scopes().enumerated() {
            let store = try await openStore(folder.path + "/\(index)", clock: clock)
            try await fill(store)
            let before = try await store.count(scopes, examining: 1000)
            #expect(before.responses == covered.count && before.pinned == 0 && before.pinnedBytes == 0)
            #expect(try await store.setPinned(true, scopes) == covered.count)
            #expect(try await pinned(store) == covered, "\(scopes)")
            let after = try await store.count(scopes, examining: 1000)
            #expect(after.pinned == covered.count && after.pinnedBytes == before.bytes)
            let use = try await store.pinUse()
            #expect(use.entries == covered.count && use.bytes == before.bytes)
            #expect(try await store.statistics().pinned == covered.count)
            // Again: nothing is left to change.
            #expect(try await store.setPinned(true, scopes) == 0)
            let first = InvalidationScope.target(try TargetURI(Self.urls[0]))
            #expect(try await store.setPinned(false, [first]) == (covered.contains(Self.urls[0]) ? 1 : 0))
            #expect(try await pinned(store) == covered.subtracting([Self.urls[0]]))
            try await store.close()
        }
    }

    @Test func everyVariantAndPartitionOfAURLIsPinned() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let url = Self.urls[0]
        for partition in [StoreKey.Partition.common, .principal("ada")] {
            for language in ["de", "en"] {
                let variant = draft(
                    try key(url, partition),
                    at: clock.now(),
                    fields: [.vary: "Accept-Language"],
                    selecting: [.acceptLanguage: language]
                )
                try await store.store(variant, language)
            }
        }
        #expect(try await store.setPinned(true, [.target(try TargetURI(url))]) == 4)
        try await store.close()
    }

    @Test func pinGoesOnToTheReplacementUntilTheResponseIsRemoved() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let scope = InvalidationScope.target(try TargetURI(Self.urls[0]))
        try await store.store(draft(try key(Self.urls[0]), at: clock.now()), "old")
        #expect(try await store.setPinned(true, [scope]) == 1)
        try await store.store(draft(try key(Self.urls[0]), at: clock.now()), "new")
        #expect(try await pinned(store) == [Self.urls[0]])
        _ = try await store.invalidate([scope], keepingForOffline: true)
        #expect(try await pinned(store) == [Self.urls[0]])
        let old = try #require(try await store.responses.lookup(try key(Self.urls[0])).first)
        let renewal = renewed(old, at: clock.now().adding(.seconds(60)))
        let fencingNumber = store.responses.invalidationSequence
        #expect(try await store.responses.freshen(old, with: renewal, fencingNumber: fencingNumber) != nil)
        #expect(try await pinned(store) == [Self.urls[0]])
        _ = try await store.invalidate([scope], keepingForOffline: false)
        #expect(try await store.pinUse().entries <= 1)
        try await store.settle()
        try await store.store(draft(try key(Self.urls[0]), at: clock.now()), "after")
        #expect(try await pinned(store).isEmpty)
        #expect(try await store.pinUse().entries == 0)
        try await store.close()
    }

    @Test(arguments: ["tag", "prefix"]) func moreThanOneStepIsPinned(_ kind: String) async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 256 << 20)
        let count = CacheManager.pinStep + 10
        for number in 0..<count {
            let key = try key("https://a.example/\(number)")
            try await store.store(draft(key, at: clock.now(), tags: ["t"]), "x")
        }
        let scope = kind == "tag" ? InvalidationScope.tag("t") : .prefix(try TargetPrefix("https://a.example/"))
        #expect(try await store.setPinned(true, [scope]) == count)
        #expect(try await store.pinUse().entries == count)
        try await store.close()
    }

    @Test func pinsThatWouldFillTheStoreAreRejectedAsAWhole() async throws {
        // With a short log, the budget is that of the entries.
        let store = try await openStore(folder.store, clock: clock, budget: 32 << 20) {
            $0.checkpointThreshold = 256 << 10
        }
        var pinned = 0
        var refusal: PinsExceedBudget?
        for number in 0..<200 where refusal == nil {
            let key = try key("https://a.example/\(number)")
            try await store.store(draft(key, at: clock.now()), [pattern(250_000)])
            do {
                pinned += try await store.setPinned(true, [.key(key)])
            } catch let error as PinsExceedBudget {
                refusal = error
            }
        }
        let use = try await store.pinUse()
        #expect(use.limit == 16 << 20 && use.bytes <= use.limit && use.bytes > use.limit - 300_000)
        #expect(use.entries == pinned && refusal?.use == use)
        #expect(refusal?.description.contains("store.budget") == true)
        // A pinned response adds nothing.
        #expect(try await store.setPinned(true, [.key(try key("https://a.example/0"))]) == 0)
        // Everything may be unpinned, at any time.
        #expect(try await store.setPinned(false, [.all]) == pinned)
        try await store.close()
    }

    @Test func thirtyPinsAtOnceStayWithinTheLimitTogether() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 32 << 20) {
            $0.checkpointThreshold = 256 << 10
        }
        // Two thirds of the responses fit, all of them do not.
        for number in 0..<60 {
            let key = try key("https://a.example/\(number)")
            try await store.store(draft(key, at: clock.now(), tags: ["\(number % 3)"]), [pattern(340_000)])
        }
        let refused = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<30 {
                group.addTask {
                    do {
                        _ = try await store.setPinned(true, [.tag("\(number % 3)")])
                        return false
                    } catch { return error is PinsExceedBudget }
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        let use = try await store.pinUse()
        #expect(use.bytes <= use.limit && use.entries == 40 && refused == 10, "\(use) \(refused)")
        try await store.close()
    }

    @Test func pinThatIsCancelledWhileItWaitsChangesNothing() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fill(store)
        try await store.core.pinTurns.enter()
        let pin = Task { try await store.setPinned(true, [.all]) }
        while store.core.pinTurns.waiting == 0, !Task.isCancelled { await Task.yield() }
        pin.cancel()
        await #expect(throws: CancellationError.self) { try await pin.value }
        store.core.pinTurns.leave()
        #expect(try await store.pinUse().entries == 0)
        #expect(try await store.setPinned(true, [.all]) == Self.urls.count)
        try await store.close()
    }

    @Test func pinnedResponsesAreNotEvicted() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 8 << 20)
        // Small ones would outlive those that follow.
        try await fill(store, length: 200_000)
        #expect(try await store.setPinned(true, [.tag("even")]) == 2)
        for number in 0..<200 {
            try await store.store(draft(try key("https://c.example/\(number)"), at: clock.now()), [pattern(100_000)])
        }
        for (index, url) in Self.urls.enumerated() {
            let isThere = try await !store.responses.lookup(try key(url)).isEmpty
            #expect(isThere == index.isMultiple(of: 2), "\(url)")
        }
        try await store.close()
    }

    @Test func storeThatIsOnlyReadRejectsPins() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fill(store)
        let reader = try await openReadOnly(folder.store, clock: clock)
        let error = await #expect(throws: StoreError.self) { try await reader.setPinned(true, [.all]) }
        #expect(error?.code == .readOnly)
        try await reader.close()
        try await store.close()
    }
}
