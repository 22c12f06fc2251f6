import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import OfflineStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct BatchWriteTests {
    struct Refused: Error {}
    /// A value that cannot be encoded if its number is 7.
    struct Picky: Codable, Sendable, Equatable {
        var number: Int
        func encode(to encoder: any Encoder) throws {
            if number == 7 { throw Refused() }
            var container = encoder.singleValueContainer()
            try container.encode(number)
        }
        init(number: Int) { self.number = number }
        init(from decoder: any Decoder) throws { number = try decoder.singleValueContainer().decode(Int.self) }
    }

    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    enum Kind: CaseIterable {
        case none
        /// Values that need more than one transaction.
        case many
        /// Values with more bytes than one transaction takes; one of them is stored by itself.
        case large

        var values: [String: String] {
            switch self {
            case .none: [:]
            case .many: Dictionary(uniqueKeysWithValues: (0..<5000).map { ("small-\($0)", "\($0)") })
            case .large:
                Dictionary(
                    uniqueKeysWithValues: (0..<30).map { index in
                        let length = index == 9 ? 5_000_000 : 400_000
                        return ("large-\(index)", String(repeating: "\(index % 10)", count: length))
                    }
                )
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func storesAllValuesInAnyNumberOfTransactions(_ kind: Kind) async throws {
        let values = kind.values
        var store = try await openStore(folder.store, clock: clock)
        if let key = values.keys.first { try await store.setObject("before", forKey: key) }
        try await store.setObjects(values, expiry: .after(.seconds(60)))
        #expect(try await store.objects(String.self, forKeys: Array(values.keys)) == Array(values.values))
        #expect(try await store.statistics().objects == values.count)
        try await store.close()
        store = try await openStore(folder.store, clock: clock)
        #expect(try await store.objects(String.self, forKeys: Array(values.keys)) == Array(values.values))
        clock.advance(by: .seconds(61))
        #expect(try await store.objects(String.self, forKeys: Array(values.keys)).allSatisfy { $0 == nil })
        #expect(try await store.storedObjects(String.self, forKeys: Array(values.keys)).allSatisfy { $0 != nil })
        try await store.close()
    }

    enum Removal: CaseIterable { case key, prefix, everything, responses, none }

    /// Values that were fetched before a removal of objects do not come back, whatever their
    /// number and size. Other invalidations do not keep them out.
    @Test(arguments: Kind.allCases, Removal.allCases)
    func valuesFetchedBeforeARemovalAreNotStored(_ kind: Kind, _ removal: Removal) async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.setObject("before", forKey: "small-0")
        let fencingNumber = store.invalidationSequence
        switch removal {
        case .key: try await store.removeObject(forKey: "small-0")
        case .prefix: try await store.removeObjects(withPrefix: "small-")
        case .everything: try await store.removeAll()
        case .responses: try await store.removeResponses(of: "ada")
        case .none: break
        }
        let values = kind.values
        try await store.setObjects(values, expiry: .never, fencingNumber: fencingNumber)
        let isStored = removal == .responses || removal == .none
        #expect(
            try await store.objects(String.self, forKeys: Array(values.keys))
                == (isStored ? Array(values.values) : Array(repeating: nil, count: values.count))
        )
        try await store.setObjects(values, expiry: .never, fencingNumber: store.invalidationSequence)
        #expect(try await store.objects(String.self, forKeys: Array(values.keys)) == Array(values.values))
        try await store.close()
    }

    @Test func storedValuesSurviveTheEndOfTheProcess() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let values = Kind.many.values
        try await store.setObjects(values)
        try copyFolder(folder.store, to: folder.path + "/copy")
        let copy = try await openStore(folder.path + "/copy", clock: clock)
        #expect(try await copy.objects(String.self, forKeys: Array(values.keys)) == Array(values.values))
        try await copy.close()
        try await store.close()
    }

    @Test func invalidKeyStoresNothing() async throws {
        let store = try await openStore(folder.store, clock: clock)
        #expect(await code { try await store.setObjects(["a": 1, "": 2, "b": 3]) } == .invalidKey)
        #expect(try await store.statistics().objects == 0)
        try await store.close()
    }

    @Test func failureLeavesEachKeyWithItsOldOrNewValue() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let old = Dictionary(uniqueKeysWithValues: (0..<20).map { ("\($0)", Picky(number: -1)) })
        try await store.setObjects(old)
        let new = Dictionary(uniqueKeysWithValues: (0..<20).map { ("\($0)", Picky(number: $0)) })
        #expect(await code { try await store.setObjects(new) } == .notEncodable)
        // One transaction would have taken them all.
        #expect(try await store.objects(Picky.self, forKeys: Array(old.keys)) == Array(old.values))
        #expect(await code { try await store.setObjects(["x": String(repeating: "x", count: 9_000_000)]) } == .tooLarge)
        try await store.close()
        #expect(await code { try await store.setObjects(old) } == .closed)
    }

    @Test func batchesStayWithinTheBudget() async throws {
        let budget = CacheManager.Configuration.minimumBudget
        let store = try await openStore(folder.store, clock: clock, budget: budget)
        let values = Dictionary(uniqueKeysWithValues: (0..<4000).map { ("\($0)", "\($0)") })
        for _ in 0..<3 {
            try await store.setObjects(values)
            let statistics = try await store.statistics()
            #expect(statistics.databaseBytes + statistics.logBytes <= budget)
        }
        // The first ones may have been evicted.
        let found = try await store.objects(String.self, forKeys: Array(values.keys))
        #expect(zip(found, values.values).allSatisfy { $0 == nil || $0 == $1 } && found.contains { $0 != nil })
        try await store.close()
    }

    @Test func storesTagsAndPublishesChanges() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let keys = try (0..<300).map { try cacheKey("/\($0)") }
        var responses: [StoreKey: RawResponse] = [:]
        for (index, key) in keys.enumerated() {
            let body = index == 3 ? pattern(5_000_000) : pattern(index)
            responses[key] = RawResponse(status: .ok, fields: [.contentType: "a/\(index)"], body: body)
        }
        var changes = store.changes(of: .key(keys[5])).makeAsyncIterator()
        try await store.setResponses(responses, expiry: .after(.seconds(60)), tags: ["some"])
        #expect(await changes.next()?.kind == .stored)
        #expect(try await store.responses(for: keys) == responses)
        try await store.setResponses([keys[0]: RawResponse(status: .gone, body: ByteBuffer())], expiry: .never)
        #expect(try await store.response(for: keys[0])?.status == .gone)
        try await store.invalidateResponses(tagged: "some")
        #expect(try await store.responses(for: keys).count == 1)
        #expect(try await store.storedResponses(for: keys).count == 300)
        try await store.close()
    }

    @Test func rejectsUnacceptableResponses() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let response = RawResponse(status: .ok, body: ByteBuffer(string: "1"))
        let tags = (0..<100).map(String.init)
        let key = try cacheKey("/")
        #expect(await code { try await store.setResponses([key: response], expiry: .never, tags: tags) } == .invalidTag)
        #expect(try await store.response(for: key) == nil)
        try await store.close()
    }
}
