import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import OfflineStore
import TestSupport
import Testing

/// Strings that look alike but differ in their bytes are two keys, two tags and two principals, in
/// every public call of the store.
@Suite(.timeLimit(.minutes(20))) struct EqualLookingTextTests {
    /// Equal in Swift but different in UTF-8: composed and decomposed, reordered marks, singletons,
    /// Hangul.
    static let pairs: [(String, String)] = [
        ("\u{e9}", "e\u{301}"), ("\u{1e9b}\u{323}", "\u{17f}\u{323}\u{307}"), ("\u{2126}", "\u{3a9}"),
        ("\u{212b}", "\u{c5}"), ("\u{ac00}", "\u{1100}\u{1161}"), ("a\u{323}\u{307}", "a\u{307}\u{323}"),
    ]

    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    /// Each pair alone, and in the middle of a name.
    private static var names: [(String, String)] {
        pairs.flatMap { one, other in [(one, other), ("user/\(one)/x", "user/\(other)/x")] }
    }

    /// A store that keeps values in memory, and one that reads each from the disk.
    private func withStores(_ body: (CacheManager) async throws -> Void) async throws {
        for memory in [64 << 20, 0] {
            let store = try await openStore(folder.path + "/store-\(memory)", clock: clock) {
                $0.memoryBudget = memory
            }
            try await body(store)
            try await store.close()
        }
    }

    @Test func pairsAreEqualOnlyToSwift() {
        for (one, other) in Self.names { #expect(one == other && Array(one.utf8) != Array(other.utf8)) }
    }

    @Test func equalLookingObjectKeysAreDistinct() async throws {
        try await withStores { store in
            let keys = Self.names.flatMap { [$0, $1] }
            for (index, key) in keys.enumerated() { try await store.setObject(index, forKey: key) }
            for (index, key) in keys.enumerated() {
                #expect(try await store.object(Int.self, forKey: key) == index)
                #expect(try await store.storedObject(Int.self, forKey: key)?.value == index)
                #expect(try await store.objectData(forKey: key)?.value == Array("\(index)".utf8))
                guard case .object(let listed)? = try await store.entry(forObjectKey: key)?.key else {
                    Issue.record("no entry of '\(key)'")
                    continue
                }
                #expect(Array(listed.utf8) == Array(key.utf8))
            }
            let all = try await store.objects(Int.self, forKeys: keys)
            #expect(all == Array(keys.indices))
            #expect(try await store.storedObjects(Int.self, forKeys: keys.reversed()).map(\.?.value) == all.reversed())
            var listed: Set<StoreEntry.Key> = []
            for try await entry in store.entries(.object) { if let key = entry.key { listed.insert(key) } }
            #expect(listed.count == keys.count)
            for (one, other) in Self.names {
                #expect(try await store.removeObject(forKey: one))
                #expect(try await store.removeObject(forKey: one) == false)
                #expect(try await store.object(Int.self, forKey: other) != nil)
                #expect(try await store.objects(Int.self, forKeys: [one, other]).map { $0 == nil } == [true, false])
            }
        }
    }

    @Test func listsStoreEqualLookingKeysAndTheLastValueOfAKey() async throws {
        try await withStores { store in
            var values: [(key: String, value: Int)] = []
            for (index, (one, other)) in Self.names.enumerated() {
                values += [(one, -1), (one, 2 * index), (other, 2 * index + 1)]
            }
            try await store.setObjects(values)
            for (index, (one, other)) in Self.names.enumerated() {
                let found = try await store.objects(Int.self, forKeys: [other, one, other])
                #expect(found == [2 * index + 1, 2 * index, 2 * index + 1])
            }
            #expect(try await store.statistics().objects == 2 * Self.names.count)
        }
    }

    @Test func equalLookingTagsAreDistinct() async throws {
        try await withStores { store in
            for (index, (one, other)) in Self.names.enumerated() {
                let (first, second) = (try cacheKey("/\(index)/1"), try cacheKey("/\(index)/2"))
                let response = RawResponse(status: .ok, body: ByteBuffer(string: "x"))
                var ofOne = store.changes(of: .tag(one)).makeAsyncIterator()
                var ofOther = store.changes(of: .tag(other)).makeAsyncIterator()
                try await store.setResponse(response, for: first, expiry: .never, tags: [one])
                try await store.setResponse(response, for: second, expiry: .never, tags: [other])
                #expect(await ofOne.next()?.scope == .key(first))
                #expect(await ofOther.next()?.scope == .key(second))
                let entry = try #require(try await store.entries(for: second.components.target).first)
                #expect(try await store.tags(of: entry).map { Array($0.utf8) } == [Array(other.utf8)])
                try await store.invalidateResponses(tagged: other)
                #expect(try await store.responses.lookup(first).map(\.head.isInvalidated) == [false])
                #expect(try await store.responses.lookup(second).map(\.head.isInvalidated) == [true])
                #expect(await ofOther.next() == StoreChange(.invalidated, .tag(other)))
                try await store.removeResponses(tagged: one)
                #expect(try await store.responses.lookup(first).isEmpty)
                #expect(try await store.responses.lookup(second).count == 1)
                #expect(await ofOne.next() == StoreChange(.invalidated, .tag(one)))
            }
        }
    }

    @Test func oneResponseCanHaveBothTags() async throws {
        try await withStores { store in
            for (index, (one, other)) in Self.names.enumerated() {
                let key = try cacheKey("/\(index)")
                let response = RawResponse(status: .ok, body: ByteBuffer(string: "x"))
                try await store.setResponse(response, for: key, expiry: .never, tags: [one, other])
                let entry = try #require(try await store.entries(for: key.components.target).first)
                #expect(try await store.tags(of: entry).count == 2)
            }
        }
    }

    @Test func equalLookingPrincipalsAreDistinct() async throws {
        try await withStores { store in
            for (index, (one, other)) in Self.names.enumerated() {
                let mine = try cacheKey("/\(index)", partition: .principal(one))
                let theirs = try cacheKey("/\(index)", partition: .principal(other))
                #expect(mine != theirs && mine.components.partition != theirs.components.partition)
                #expect(Set([mine.components, theirs.components]).count == 2)
                let response = RawResponse(status: .ok, body: ByteBuffer(string: "mine"))
                try await store.setResponse(response, for: mine, expiry: .never)
                #expect(try await store.response(for: theirs) == nil)
                #expect(try await store.responses(for: [theirs, mine]).count == 1)
                try await store.setResponses([theirs: response], expiry: .never)
                #expect(try await store.removeResponse(for: mine))
                #expect(try await store.response(for: theirs) == response)
            }
        }
    }

    /// A quota for one tag does not apply to the other, and both may have one.
    @Test func equalLookingQuotasAreDistinct() async throws {
        for (number, (one, other)) in Self.names.enumerated() {
            let store = try await openStore(folder.path + "/quota-\(number)", clock: clock) {
                $0.quotas = [.tag(one, bytes: 20_000), .tag(other, bytes: 2_000_000)]
            }
            let response = RawResponse(status: .ok, body: pattern(50_000))
            let key = try cacheKey("/x")
            #expect(
                await code { try await store.setResponse(response, for: key, expiry: .never, tags: [one]) } == .tooLarge
            )
            try await store.setResponse(response, for: key, expiry: .never, tags: [other])
            #expect(try await store.response(for: key) == response)
            try await store.close()
        }
    }

    /// Targets have one spelling each: bytes that are not ASCII are percent-encoded.
    @Test func equalLookingTargetsAndPrefixesAreDistinct() async throws {
        try await withStores { store in
            for (one, other) in Self.names {
                let (first, second) = (try cacheKey("/\(one)/a"), try cacheKey("/\(other)/a"))
                let response = RawResponse(status: .ok, body: ByteBuffer(string: "x"))
                try await store.setResponses([first: response, second: response], expiry: .never)
                try await store.invalidateResponses(withPrefix: try TargetPrefix("https://api.example/\(one)/"))
                #expect(try await store.response(for: first) == nil)
                #expect(try await store.response(for: second) == response)
                try await store.removeResponses(for: second.components.target)
                #expect(try await store.storedResponse(for: first) != nil)
            }
        }
    }
}
