import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import OfflineStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct MemoryTierTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    @Test func storedResponseIsInMemoryWithItsBody() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/x")
        try await store.store(draft(key, at: clock.now()), "hello")
        let resident = try #require(store.responses.resident(key))
        #expect(resident.count == 1)
        #expect(resident[0].content?.body == ByteBuffer(string: "hello"))
        #expect(try await store.responses.lookup(key) == resident)
        try await store.close()
    }

    @Test func readResponseIsInMemoryAfterwards() async throws {
        var store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/x")
        try await store.store(draft(key, at: clock.now()), "hello")
        try await store.close()
        store = try await openStore(folder.store, clock: clock)
        #expect(store.responses.resident(key) == nil)
        #expect(try await store.responses.lookup(key).count == 1)
        #expect(store.responses.resident(key)?.count == 1)
        try await store.close()
    }

    @Test func nothingIsInMemoryWithoutABudget() async throws {
        let store = try await openStore(folder.store, clock: clock) { $0.memoryBudget = 0 }
        let key = try cacheKey("/x")
        try await store.store(draft(key, at: clock.now()), "hello")
        #expect(store.responses.resident(key) == nil)
        #expect(try await store.text(of: key) == "hello")
        try await store.close()
    }

    @Test func largeBodyStaysOnDiskAndItsHeadIsInMemory() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/x")
        try await store.store(draft(key, at: clock.now()), [pattern(300_000)])
        let resident = try #require(store.responses.resident(key)?.first)
        #expect(resident.content != nil && resident.content?.body == nil)
        #expect(try await store.responses.openBody(of: resident)?.collect(upTo: 300_000) == pattern(300_000))
        try await store.close()
    }

    @Test(arguments: ["target", "key", "tag", "all"], [true, false])
    func invalidationIsInForceInMemoryWhenItReturns(_ what: String, _ isKept: Bool) async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/x")
        let other = try cacheKey("/other")
        for key in [key, other] {
            try await store.store(draft(key, at: clock.now(), tags: key == other ? ["u"] : ["t"]), "hello")
            #expect(store.responses.resident(key)?.map(\.head.isInvalidated) == [false])
        }
        let scope: InvalidationScope =
            switch what {
            case "target": .target(key.components.target)
            case "key": .key(key)
            case "tag": .tag("t")
            default: .all
            }
        try await store.responses.invalidate(scope, keepingForOffline: isKept, at: clock.now())
        #expect(store.responses.resident(key)?.contains { !$0.head.isInvalidated } != true)
        #expect(try await store.responses.lookup(key).map(\.head.isInvalidated) == (isKept ? [true] : []))
        if what != "all" {
            #expect(store.responses.resident(other)?.map(\.head.isInvalidated) == [false])
        }
        try await store.close()
    }

    @Test func allVariantsOfAKeyAreInMemoryOrNone() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/x")
        for language in ["en", "de", "fr"] {
            let variant = draft(
                key,
                at: clock.now(),
                fields: [.vary: "accept-language"],
                selecting: [.acceptLanguage: language]
            )
            try await store.store(variant, language)
            let resident = store.responses.resident(key)
            let found = try await store.responses.lookup(key)
            if let resident { #expect(Set(resident.map(\.id)) == Set(found.map(\.id))) }
        }
        #expect(store.responses.resident(key)?.count == 3)
        try await store.close()
    }

    @Test func freshenedHeadReplacesTheOneInMemory() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/x")
        let stored = try #require(try await store.store(draft(key, at: clock.now()), "hello"))
        var renewed = draft(key, at: clock.now())
        renewed.head.fields[.server] = "new"
        let fencingNumber = store.responses.invalidationSequence
        #expect(try await store.responses.freshen(stored, with: renewed, fencingNumber: fencingNumber) != nil)
        #expect(try await store.responses.lookup(key).map { $0.head.fields[.server] } == ["new"])
        #expect(store.responses.resident(key)?.map { $0.head.fields[.server] } == ["new"])
        #expect(try await store.text(of: key) == "hello")
        try await store.close()
    }

    /// An entry that is read once from disk must not evict others. One that is read twice may.
    @Test func readingManyEntriesOnceEvictsNothing() async throws {
        var store = try await openStore(folder.store, clock: clock)
        let keys = try (0..<300).map { try cacheKey("/\($0)") }
        for key in keys { try await store.store(draft(key, at: clock.now()), [pattern(8000)]) }
        try await store.close()
        store = try await openStore(folder.store, clock: clock) { $0.memoryBudget = 1 << 20 }
        let responses = store.responses
        func resident(_ indices: Range<Int>) -> [Int] {
            indices.filter { responses.resident(keys[$0])?.isEmpty == false }
        }
        for key in keys.prefix(200) { #expect(try await responses.lookup(key).count == 1) }
        let early = resident(0..<300)
        #expect(early.count > 40 && early.last == early.count - 1)
        for key in keys.suffix(100) { #expect(try await responses.lookup(key).count == 1) }
        #expect(resident(0..<300) == early)
        for index in 295..<300 {
            #expect(try await responses.lookup(keys[index]).count == 1)
            #expect(resident(index..<index + 1) == [index])
        }
        try await store.close()
    }

    @Test func bodyBeyondTheLimitIsNotKeptAfterReading() async throws {
        var store = try await openStore(folder.store, clock: clock) { $0.maximumResidentBody = 100 }
        let key = try cacheKey("/x")
        try await store.store(draft(key, at: clock.now()), [pattern(101)])
        #expect(store.responses.resident(key)?.first.map { $0.content?.body == nil } == true)
        try await store.close()
        store = try await openStore(folder.store, clock: clock) { $0.maximumResidentBody = 100 }
        #expect(try await store.responses.lookup(key).first?.content?.body == pattern(101))
        #expect(store.responses.resident(key)?.first.map { $0.content?.body == nil } == true)
        #expect(try await store.statistics().residentKeys == 1)
        try await store.close()
    }

    /// A read that begins before a change and ends after it must not bring the old value back into
    /// memory.
    @Test func readersNeverSeeReplacedValues() async throws {
        let store = try await openStore(folder.store, clock: clock) { $0.memoryBudget = 1 << 20 }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    let key = "key-\(worker)"
                    for value in 0..<300 {
                        try await store.setObject(value, forKey: key)
                        let read = try await store.object(Int.self, forKey: key)
                        #expect(read == value)
                    }
                }
                group.addTask {
                    var last = -1
                    for _ in 0..<900 {
                        let value = try await store.object(Int.self, forKey: "key-\(worker)") ?? -1
                        #expect(value >= last, "\(value) after \(last)")
                        last = value
                    }
                }
            }
            try await group.waitForAll()
        }
        try await store.close()
    }

    @Test func unknownKeysAreKnownAbsentOnceAllKeysAreRead() async throws {
        var store = try await openStore(folder.store, clock: clock)
        for index in 0..<100 { try await store.store(draft(try cacheKey("/\(index)"), at: clock.now()), "x") }
        try await store.close()
        store = try await openStore(folder.store, clock: clock)
        try await store.settle()
        let absent = try (0..<1000).map { try cacheKey("/absent/\($0)") }.filter { store.responses.resident($0) == [] }
        #expect(absent.count > 950)
        for index in 0..<100 {
            #expect(store.responses.resident(try cacheKey("/\(index)")) == nil)
            #expect(try await store.responses.lookup(try cacheKey("/\(index)")).count == 1)
        }
        for key in absent.prefix(20) {
            try await store.store(draft(key, at: clock.now()), "now")
            #expect(try await store.text(of: key) == "now")
        }
        try await store.close()
    }
}

@Suite(.timeLimit(.minutes(20))) struct BatchTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    @Test(arguments: [0, 64 << 20])
    func batchReturnsTheObjectsThatExist(_ memory: Int) async throws {
        var store = try await openStore(folder.store, clock: clock) { $0.memoryBudget = memory }
        for index in 0..<50 {
            try await store.setObject(index, forKey: "\(index)", expiry: index < 40 ? .never : .after(.seconds(1)))
        }
        try await store.setObject(String(repeating: "x", count: 2_000_000), forKey: "large")
        try await store.setObject("no number", forKey: "text")
        try await store.close()
        store = try await openStore(folder.store, clock: clock) { $0.memoryBudget = memory }
        clock.advance(by: .seconds(2))
        _ = try await store.object(Int.self, forKey: "7")
        let keys = (0..<60).map(String.init)
        let found = try await store.objects(Int.self, forKeys: keys + ["text"])
        #expect(found == (0..<61).map { $0 < 40 ? $0 : nil })
        let stored = try await store.storedObjects(Int.self, forKeys: keys)
        #expect(stored.map { $0?.isExpired } == (0..<60).map { $0 < 40 ? false : $0 < 50 ? true : nil })
        #expect(try await store.objects(String.self, forKeys: ["large"]).first??.count == 2_000_000)
        #expect(try await store.objects(Int.self, forKeys: []).isEmpty)
        #expect(await code { _ = try await store.objects(Int.self, forKeys: ["a", ""]) } == .invalidKey)
        try await store.close()
    }

    @Test(arguments: [0, 64 << 20])
    func batchReturnsTheResponsesThatExist(_ memory: Int) async throws {
        var store = try await openStore(folder.store, clock: clock) { $0.memoryBudget = memory }
        let keys = try (0..<30).map { try cacheKey("/\($0)") }
        for (index, key) in keys.prefix(20).enumerated() {
            let body = index == 5 ? pattern(400_000) : ByteBuffer(string: "\(index)")
            try await store.store(draft(key, at: clock.now(), freshFor: .seconds(index < 15 ? 60 : 1)), [body])
        }
        try await store.close()
        store = try await openStore(folder.store, clock: clock) { $0.memoryBudget = memory }
        clock.advance(by: .seconds(2))
        let found = try await store.responses(for: keys)
        #expect(found.count == 15)
        #expect(found[keys[5]]?.body == pattern(400_000))
        #expect(found[keys[9]]?.body == ByteBuffer(string: "9"))
        let stored = try await store.storedResponses(for: keys)
        #expect(stored.count == 20 && stored[keys[17]]?.isExpired == true)
        #expect(try await store.responses(for: keys) == found)
        try await store.close()
    }
}
