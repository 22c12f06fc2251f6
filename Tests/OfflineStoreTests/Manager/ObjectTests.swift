import HTTPCache
import HTTPCacheSemantics
import OfflineStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct ObjectTests {
    struct Feed: Codable, Sendable, Equatable {
        var title: String
        var likes: [String: Int]
    }
    struct Other: Codable, Sendable, Equatable { var number: Int }

    let folder: TemporaryFolder
    let clock = ManualClock()
    let feed = Feed(title: "ä / b", likes: ["z": 1, "a": 2, "m": 3])

    init() throws { folder = try TemporaryFolder() }

    @Test func storesAndReplacesAValue() async throws {
        let store = try await openStore(folder.store, clock: clock)
        #expect(try await store.object(Feed.self, forKey: "feed") == nil)
        try await store.setObject(feed, forKey: "feed")
        #expect(try await store.object(forKey: "feed") == feed)
        try await store.setObject(Feed(title: "2", likes: [:]), forKey: "feed")
        #expect(try await store.object(Feed.self, forKey: "feed")?.title == "2")
        #expect(try await store.statistics().objects == 1)
        try await store.close()
    }

    @Test func jsonHasSortedKeys() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.setObject(feed, forKey: "feed")
        let bytes = try #require(try await store.objectData(forKey: "feed")).value
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"likes":{"a":2,"m":3,"z":1},"title":"ä / b"}"#)
        try await store.close()
    }

    @Test func expirySeparatesLiveFromStoredValues() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let start = clock.now()
        try await store.setObject(1, forKey: "never", expiry: .never)
        try await store.setObject(2, forKey: "after", expiry: .after(.seconds(60)))
        try await store.setObject(3, forKey: "at", expiry: .at(start.adding(.seconds(90))))
        try await store.setObject(4, forKey: "zero", expiry: .after(.zero))
        func live() async throws -> [Int?] {
            var values: [Int?] = []
            for key in ["never", "after", "at", "zero"] { values.append(try await store.object(Int.self, forKey: key)) }
            return values
        }
        #expect(try await live() == [1, 2, 3, nil])
        clock.advance(by: .milliseconds(59_999))
        #expect(try await live() == [1, 2, 3, nil])
        clock.advance(by: .milliseconds(1))
        #expect(try await live() == [1, nil, 3, nil])
        clock.advance(by: .seconds(30))
        #expect(try await live() == [1, nil, nil, nil])
        let stored = try #require(try await store.storedObject(Int.self, forKey: "after"))
        #expect(stored.value == 2)
        #expect(stored.isExpired)
        #expect(stored.staleness == .seconds(30))
        #expect(stored.age == .seconds(90))
        #expect(stored.storedAt == start)
        let never = try #require(try await store.storedObject(Int.self, forKey: "never"))
        #expect(!never.isExpired && never.expiresAt == nil && never.staleness == .zero)
        try await store.close()
    }

    @Test func readingNeverDeletes() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.setObject(1, forKey: "n", expiry: .after(.seconds(1)))
        clock.advance(by: .seconds(100_000))
        for _ in 0..<3 { #expect(try await store.object(Int.self, forKey: "n") == nil) }
        #expect(try await store.storedObject(Int.self, forKey: "n")?.value == 1)
        #expect(try await store.statistics().objects == 1)
        try await store.close()
    }

    @Test func clockTurnedBackDoesNotTrap() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.setObject(1, forKey: "n", expiry: .after(.seconds(60)))
        clock.advance(by: .seconds(-1_000_000_000))
        let stored = try #require(try await store.storedObject(Int.self, forKey: "n"))
        #expect(stored.age == .zero && stored.isExpired && stored.staleness == .zero)
        try await store.close()
    }

    @Test func changedTypeIsAMissAndKeepsTheBytes() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.setObject(feed, forKey: "feed")
        #expect(try await store.object(Other.self, forKey: "feed") == nil)
        #expect(try await store.storedObject(Other.self, forKey: "feed") == nil)
        #expect(try await store.statistics().undecodableObjects == 2)
        #expect(try await store.object(Feed.self, forKey: "feed") == feed)
        #expect(try await store.objectData(forKey: "feed")?.value.isEmpty == false)
        try await store.close()
    }

    @Test func encodingFailureKeepsTheOldValue() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.setObject(1.5, forKey: "n")
        #expect(await code { try await store.setObject(Double.nan, forKey: "n") } == .notEncodable)
        let text = await message { try await store.setObject(Double.nan, forKey: "n") }
        #expect(text.contains("'n'") && text.contains("'Double'"))
        #expect(try await store.object(Double.self, forKey: "n") == 1.5)
        try await store.close()
    }

    @Test func keysHaveALengthLimitAndAreComparedByBytes() async throws {
        let store = try await openStore(folder.store, clock: clock)
        #expect(await code { try await store.setObject(1, forKey: "") } == .invalidKey)
        #expect(await code { try await store.setObject(1, forKey: String(repeating: "k", count: 4097)) } == .invalidKey)
        try await store.setObject(1, forKey: "\u{e9}")
        try await store.setObject(2, forKey: "e\u{301}")
        #expect(try await store.object(Int.self, forKey: "\u{e9}") == 1)
        #expect(try await store.object(Int.self, forKey: "e\u{301}") == 2)
        try await store.close()
    }

    @Test func removingReturnsWhetherThereWasAValue() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await store.setObject(1, forKey: "n")
        #expect(try await store.removeObject(forKey: "n"))
        #expect(try await store.removeObject(forKey: "n") == false)
        #expect(try await store.objectData(forKey: "n") == nil)
        try await store.close()
    }

    @Test func objectLargerThanATransactionIsStoredWhole() async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 128 << 20)
        let text = String(repeating: "abcdefgh", count: 1_200_000)
        try await store.setObject(text, forKey: "large")
        #expect(try await store.object(String.self, forKey: "large") == text)
        try await store.setObject("small", forKey: "large")
        try await store.settle()
        #expect(try await store.object(String.self, forKey: "large") == "small")
        #expect(try await store.statistics().unreferencedBodies == 0)
        try await store.close()
    }

    @Test func callUsesTheCoderItNames() async throws {
        struct Shouting: ObjectCoder {
            var contentType: String { "text/shout" }
            func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] { Array("\(value)!".utf8) }
            func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
                guard let value = String(decoding: bytes.dropLast(), as: UTF8.self) as? Value else {
                    throw TestFailure("no text")
                }
                return value
            }
        }
        let store = try await openStore(folder.store, clock: clock)
        try await store.setObject("hey", forKey: "n", coder: Shouting())
        #expect(try await store.object(String.self, forKey: "n", coder: Shouting()) == "hey")
        #expect(try await store.object(String.self, forKey: "n") == nil)
        #expect(try await store.entry(forObjectKey: "n")?.contentType == "text/shout")
        try await store.close()
    }

    @Test func concurrentWritesAreAllCommitted() async throws {
        let store = try await openStore(folder.store, clock: clock)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<500 { group.addTask { try await store.setObject(index, forKey: "n\(index)") } }
            try await group.waitForAll()
        }
        for index in 0..<500 { #expect(try await store.object(Int.self, forKey: "n\(index)") == index) }
        try await store.close()
    }
}
