import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import TestSupport
import Testing

@testable import OfflineStore

/// A stored response that gets another body, if it still has the one that was read.
@Suite(.timeLimit(.minutes(20))) struct ReplacingTests {
    let folder: TemporaryFolder
    let clock = ManualClock()
    var path: String { folder.store + "/0001.sqlite" }

    init() throws { folder = try TemporaryFolder() }

    private static let unchanged: @Sendable (ResponseReplacement) -> ResponseReplacement = { $0 }

    private func isWhole() async throws -> Bool {
        let verification = try await CacheManager.verify(at: folder.store, isFull: true)
        #expect(verification.findings == [])
        return try wrongTags(path) == 0
    }

    private func content(_ store: CacheManager, _ key: StoreKey) async throws -> ByteBuffer? {
        guard let stored = try await store.responses.lookup(key).first else { return nil }
        return try await store.responses.openBody(of: stored)?.collect(upTo: 8 << 20)
    }

    @Test(arguments: [5, 200_000]) func replacesBodyAndHeadAndKeepsTheRest(length: Int) async throws {
        let key = try cacheKey("/a")
        let body = pattern(length)
        do {
            let store = try await openStore(folder.store, clock: clock)
            try await store.store(draft(key, at: clock.now(), tags: ["t"]), [pattern(70_000)])
            let before = try #require(try await store.responses.lookup(key).first)
            clock.advance(by: .seconds(5))
            let expiry = clock.now()
            let replaced = try #require(
                try await store.replaceBody(of: before, with: body, excludesFetches: true) { former in
                    var head = former.head
                    head.explicitExpiry = expiry
                    return ResponseReplacement(head: head, freshUntil: expiry, isUsableStale: true)
                }
            )
            #expect(replaced.former.head == before.head && replaced.former.freshUntil == before.content?.freshUntil)
            let after = try #require(try await store.responses.lookup(key).first)
            #expect(after == replaced.stored && after.id != before.id)
            #expect(after.head.explicitExpiry == expiry && after.storedAt == expiry && !after.head.isInvalidated)
            #expect(after.bodyLength == Int64(length))
            #expect(try await content(store, key) == body)
            try await store.close()
        }
        let store = try await openStore(folder.store, clock: clock)
        #expect(try await content(store, key) == body)
        #expect(try await store.responses.lookup(key).count == 1)
        try await store.invalidateResponses(tagged: "t")
        #expect(try await store.responses.lookup(key).first?.head.isInvalidated == true)
        try await store.close()
        #expect(try await isWhole())
    }

    @Test func nothingChangesOnceAnotherBodyIsStored() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/a")
        try await store.store(draft(key, at: clock.now()), [pattern(10)])
        let read = try #require(try await store.responses.lookup(key).first)
        try await store.store(draft(key, at: clock.now()), [pattern(20)])
        let sequence = store.responses.invalidationSequence
        #expect(
            try await store.replaceBody(of: read, with: pattern(30), excludesFetches: true, Self.unchanged) == nil
        )
        #expect(try await content(store, key) == pattern(20))
        #expect(store.responses.invalidationSequence == sequence)
        try await store.responses.invalidate(.key(key), keepingForOffline: false, at: clock.now())
        let gone = try await store.replaceBody(of: read, with: pattern(30), excludesFetches: true, Self.unchanged)
        #expect(gone == nil)
        #expect(try await content(store, key) == nil)
        try await store.close()
    }

    @Test func replacementStartsFromTheFreshenedHead() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/a")
        try await store.store(draft(key, at: clock.now()), [pattern(10)])
        let read = try #require(try await store.responses.lookup(key).first)
        let renewal = renewed(read, at: .distantFuture)
        #expect(
            try await store.responses.freshen(read, with: renewal, fencingNumber: store.responses.invalidationSequence)
                != nil
        )
        let replaced = try #require(
            try await store.replaceBody(of: read, with: pattern(30), excludesFetches: false, Self.unchanged)
        )
        #expect(replaced.former.head == renewal.head && replaced.former.freshUntil == renewal.freshUntil)
        try await store.close()
    }

    @Test(arguments: [InvalidationCause.unspecified, .unsafeMethod])
    func invalidatedResponseStaysInvalidated(cause: InvalidationCause) async throws {
        let key = try cacheKey("/a")
        let store = try await openStore(folder.store, clock: clock)
        try await store.store(draft(key, at: clock.now()), [pattern(10)])
        try await store.responses.invalidate(.key(key), .mark(cause), at: clock.now())
        let stored = try #require(try await store.responses.lookup(key).first)
        let replaced = try await store.replaceBody(of: stored, with: pattern(30), excludesFetches: true) { former in
            var head = former.head
            head.invalidation = nil
            return ResponseReplacement(head: head, freshUntil: .distantFuture, isUsableStale: true)
        }
        #expect(replaced?.stored.head.invalidation == cause)
        #expect(try await store.responses.lookup(key).first?.head.invalidation == cause)
        try await store.close()
        // On disk too.
        let again = try await openStore(folder.store, clock: clock)
        #expect(try await again.responses.lookup(key).first?.head.invalidation == cause)
        try await again.close()
    }

    /// A fetch that is under way would bring the former content back.
    @Test(arguments: [true, false]) func replacementExcludesEarlierFetchesOnRequest(excludes: Bool) async throws {
        let store = try await openStore(folder.store, clock: clock)
        let (key, other) = (try cacheKey("/a"), try cacheKey("/b"))
        try await store.store(draft(key, at: clock.now()), [pattern(10)])
        let fencingNumber = store.responses.invalidationSequence
        let read = try #require(try await store.responses.lookup(key).first)
        _ = try await store.replaceBody(of: read, with: pattern(30), excludesFetches: excludes, Self.unchanged)
        for (target, isStored) in [(key, !excludes), (other, true)] {
            let writer = try #require(
                try await store.responses.beginWrite(draft(target, at: clock.now()), fencingNumber: fencingNumber)
            )
            try await writer.append(pattern(40))
            #expect(try await (writer.finish() != nil) == isStored)
        }
        #expect(try await content(store, key) == pattern(excludes ? 30 : 40))
        let now = store.responses.invalidationSequence
        let writer = try #require(try await store.responses.beginWrite(draft(key, at: clock.now()), fencingNumber: now))
        try await writer.append(pattern(50))
        #expect(try await writer.finish() != nil)
        try await store.close()
        #expect(try await isWhole())
    }

    @Test func pinIsKept() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/a")
        var pinned = draft(key, at: clock.now())
        pinned.isPinned = true
        try await store.store(pinned, [pattern(10)])
        let read = try #require(try await store.responses.lookup(key).first)
        _ = try await store.replaceBody(of: read, with: pattern(30), excludesFetches: true, Self.unchanged)
        #expect(try queryInteger(path, "SELECT count(*) FROM entry WHERE is_pinned = 1") == 1)
        try await store.close()
    }

    @Test func bodyBeyondOneTransactionIsRejected() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = try cacheKey("/a")
        try await store.store(draft(key, at: clock.now()), [pattern(10)])
        let read = try #require(try await store.responses.lookup(key).first)
        await #expect(throws: StoreError.self) {
            try await store.replaceBody(of: read, with: pattern(5 << 20), excludesFetches: true, Self.unchanged)
        }
        #expect(try await content(store, key) == pattern(10))
        try await store.close()
    }
}
