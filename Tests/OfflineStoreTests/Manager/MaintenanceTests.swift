import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import OfflineStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct MaintenanceTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    private func fill(_ store: CacheManager) async throws {
        let now = clock.now()
        try await store.store(draft(try cacheKey("/fresh"), at: now, freshFor: .seconds(1000)), "1")
        try await store.store(draft(try cacheKey("/stale-usable"), at: now, freshFor: .seconds(10)), "2")
        try await store.store(
            draft(try cacheKey("/stale-forbidden"), at: now, freshFor: .seconds(10), isUsableStale: false),
            "3"
        )
        try await store.store(
            draft(try cacheKey("/invalidated"), at: now, freshFor: .seconds(1000), isUsableStale: false),
            "4"
        )
        try await store.setObject(5, forKey: "expired", expiry: .after(.seconds(10)))
        try await store.setObject(6, forKey: "live", expiry: .after(.seconds(1000)))
        try await store.setObject(7, forKey: "never")
        try await store.responses.invalidate(.key(try cacheKey("/invalidated")), keepingForOffline: true, at: now)
        clock.advance(by: .seconds(20))
    }

    private func names(_ store: CacheManager) async throws -> Set<String> {
        var names: Set<String> = []
        for try await entry in store.entries() {
            switch entry.key {
            case .response(let key): names.insert(key.components.target.path)
            case .object(let key): names.insert(key)
            case nil: names.insert("damaged")
            }
        }
        return names
    }

    @Test func removeExpiredKeepsOfflineCopies() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fill(store)
        let statistics = try await store.statistics()
        #expect(statistics.expired == 4 && statistics.usableStale == 2 && statistics.invalidated == 1)
        let summary = try await store.removeExpired()
        #expect(summary.responses == 2 && summary.objects == 0 && summary.bytes > 0)
        #expect(try await names(store) == ["/fresh", "/stale-usable", "expired", "live", "never"])
        #expect(try await store.removeExpired() == RemovalSummary())
        try await store.close()
    }

    @Test func removeExpiredCanRemoveOfflineCopies() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fill(store)
        let summary = try await store.removeExpired(includingOfflineUsable: true)
        #expect(summary.responses == 3 && summary.objects == 1)
        #expect(try await names(store) == ["/fresh", "live", "never"])
        try await store.close()
    }

    @Test func removeExpiredRemovesEntriesBelowTheInvalidationFloor() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for index in 0..<700 {
            try await store.store(
                draft(
                    try cacheKey("/\(index)"),
                    at: clock.now(),
                    freshFor: .seconds(1000),
                    isUsableStale: index % 2 == 0
                ),
                "x"
            )
        }
        try await store.responses.invalidate(.all, keepingForOffline: true, at: clock.now())
        try await store.store(
            draft(try cacheKey("/new"), at: clock.now(), freshFor: .seconds(1000), isUsableStale: false),
            "x"
        )
        #expect(try await store.removeExpired().responses == 350)
        #expect(try await store.removeExpired(includingOfflineUsable: true).responses == 350)
        #expect(try await names(store) == ["/new"])
        try await store.close()
    }

    @Test func entriesHoldTheFactsForListing() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let secret = try cacheKey("/feed?token=abc&page=2", partition: .principal("alice"))
        try await store.store(
            draft(
                secret,
                at: clock.now(),
                freshFor: .seconds(5),
                fields: [.contentType: "application/json", .vary: "Accept-Language, Accept"],
                selecting: [.accept: "a"]
            ),
            "{}"
        )
        try await store.setObject([1], forKey: "numbers")
        var entries: [StoreEntry] = []
        for try await entry in store.entries() { entries.append(entry) }
        #expect(entries.map(\.kind) == [.response, .object])
        let response = entries[0]
        #expect(response.shortID.count == 16)
        #expect(response.key == .response(secret))
        #expect(response.method == .get && response.status == .ok && response.partition == .principal)
        #expect(response.redactedURI?.contains("abc") == false)
        #expect(response.redactedURI?.contains("page=2") == true)
        #expect(response.contentType == "application/json")
        #expect(response.bodyLength == 2)
        #expect(response.storedAt == clock.now() && response.expiresAt == clock.now().adding(.seconds(5)))
        #expect(response.selectingNames == ["accept", "accept-language"])
        #expect(response.isUsableStale && !response.isInvalidated && !response.isPinned && !response.isDamaged)
        #expect(!response.isExpired(at: clock.now()) && response.isExpired(at: clock.now().adding(.seconds(5))))
        #expect(
            entries[1].key == .object("numbers") && entries[1].contentType == "application/json"
                && entries[1].expiresAt == nil
        )

        #expect(try await store.entries(for: try TargetURI("https://api.example/feed?token=abc&page=2")) == [response])
        #expect(try await store.entries(for: try TargetURI("https://api.example/feed")).isEmpty)
        #expect(try await store.entries(withShortIDPrefix: response.shortID) == [response])
        #expect(
            try await store.entries(withShortIDPrefix: String(response.shortID.prefix(6)).uppercased()) == [response]
        )
        #expect(try await store.entries(withShortIDPrefix: "nonsense").isEmpty)
        #expect(try await store.entries(withShortIDPrefix: "").isEmpty)
        let stored = try #require(try await store.response(of: response))
        #expect(stored.head.selectingFields[.accept] == "a")
        #expect(try await store.body(of: response)?.text() == "{}")
        #expect(try await store.body(of: entries[1])?.text() == "[1]")
        try await store.close()
    }

    @Test func listingGoesThroughManyPages() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<600 { group.addTask { try await store.setObject(index, forKey: "\(index)") } }
            try await group.waitForAll()
        }
        try await store.store(draft(try cacheKey("/x"), at: clock.now()), "x")
        #expect(try await names(store).count == 601)
        var responses = 0
        for try await _ in store.entries(.response) { responses += 1 }
        #expect(responses == 1)
        try await store.close()
    }

    @Test func storesAndReadsRawResponses() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/raw")
        let raw = RawResponse(status: .ok, fields: [.eTag: "\"1\""], body: ByteBuffer(string: "raw"))
        #expect(try await store.response(for: key) == nil)
        try await store.setResponse(raw, for: key, expiry: .after(.seconds(60)))
        #expect(try await store.response(for: key) == raw)
        clock.advance(by: .seconds(90))
        #expect(try await store.response(for: key) == nil)
        let stored = try #require(try await store.storedResponse(for: key))
        #expect(stored.response == raw && stored.isExpired && !stored.isInvalidated)
        #expect(stored.staleness == .seconds(30) && stored.age == .seconds(90))
        try await store.setResponse(raw, for: key, expiry: .never)
        #expect(try await store.response(for: key) == raw)
        try await store.responses.invalidate(.key(key), keepingForOffline: true, at: clock.now())
        #expect(try await store.response(for: key) == nil)
        #expect(try await store.storedResponse(for: key)?.isInvalidated == true)
        let fencingNumber = store.responses.invalidationSequence
        #expect(try await store.removeResponse(for: key))
        #expect(try await store.removeResponse(for: key) == false)
        #expect(store.responses.invalidationSequence > fencingNumber)
        #expect(try await store.storedResponse(for: key) == nil)
        try await store.close()
    }

    @Test func removingEverythingStopsRunningFills() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await fill(store)
        let fencingNumber = store.responses.invalidationSequence
        try await store.removeAll()
        #expect(try await names(store).isEmpty)
        #expect(
            try await store.store(draft(try cacheKey("/late"), at: clock.now()), "x", fencingNumber: fencingNumber)
                == nil
        )
        let statistics = try await store.statistics()
        #expect(statistics.responses + statistics.objects == 0 && statistics.storedBytes == 0)
        try await store.close()
    }

    @Test func secureDeletionOverwritesRemovedContent() async throws {
        let store = try await openStore(folder.store, clock: clock) { $0.securelyDeletes = true }
        try await store.setObject("a-secret-nobody-may-find", forKey: "n")
        try await store.setObject("other", forKey: "m")
        try await store.removeObject(forKey: "n")
        try await store.close()
        let bytes = try readFile(folder.store + "/0001.sqlite") + readFile(folder.store + "/0001.sqlite-wal")
        #expect(!String(decoding: bytes, as: UTF8.self).contains("a-secret-nobody-may-find"))
    }
}

extension BodyStream {
    fileprivate func text() async throws -> String { String(buffer: try await collect(upTo: 1 << 20)) }
}
