import HTTPCache
import HTTPCacheSemantics
import NIOCore
import OfflineStore
import TestSupport
import Testing

/// Ranges of stored bodies; a chunk has 65,536 bytes.
@Suite(.timeLimit(.minutes(20))) struct BodyRangeTests {
    static let chunk: Int64 = 65_536

    let folder: TemporaryFolder
    let clock = ManualClock()
    var path: String { folder.store + "/0001.sqlite" }

    init() throws { folder = try TemporaryFolder() }

    private func bytes(of response: StoredResponse, _ range: Range<Int64>?, in store: CacheManager) async throws
        -> ByteBuffer?
    {
        guard let stream = try await store.responses.openBody(of: response, range: range) else { return nil }
        let bytes = try await stream.collect(upTo: 1 << 30)
        #expect(stream.length == StatedLength(clamping: bytes.readableBytes))
        return bytes
    }

    @Test(arguments: [1, 1000, chunk - 1, chunk, chunk + 1, 3 * chunk, 3 * chunk + 17, 80 * chunk + 5])
    func everyRangeReturnsItsBytes(_ length: Int64) async throws {
        let store = try await openStore(folder.store, clock: clock, budget: 256 << 20)
        let body = pattern(Int(length))
        let response = try #require(try await store.store(draft(try cacheKey("/x"), at: clock.now()), [body]))
        let edges = [0, 1, Self.chunk - 1, Self.chunk, Self.chunk + 1, 2 * Self.chunk, length / 2, length - 1, length]
        let places = Set(edges.filter { (0...length).contains($0) }).sorted()
        for lower in places {
            for upper in places where upper >= lower {
                let part = try await bytes(of: response, lower..<upper, in: store)
                #expect(part == body.getSlice(at: Int(lower), length: Int(upper - lower)), "\(lower)..<\(upper)")
            }
        }
        #expect(try await bytes(of: response, nil, in: store) == body)
        try await store.close()
    }

    @Test func rangeBeyondTheBodyReturnsNil() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let response = try #require(try await store.store(draft(try cacheKey("/x"), at: clock.now()), "hello"))
        for range in [Int64(0)..<6, 5..<6, -1..<2, 7..<9, 6..<6] {
            #expect(try await store.responses.openBody(of: response, range: range) == nil, "\(range)")
        }
        #expect(try await bytes(of: response, 5..<5, in: store) == ByteBuffer())
        try await store.close()
    }

    /// Damage outside of the range does no harm. Damage in the first chunk is known when the stream
    /// is there, and later damage throws.
    @Test func damageAffectsOnlyRangesThatReadIt() async throws {
        var store = try await openStore(folder.store, clock: clock)
        let body = pattern(Int(4 * Self.chunk))
        let id = try #require(try await store.store(draft(try cacheKey("/x"), at: clock.now()), [body])).bodyID
        try await store.close()
        try runSQL(path, "UPDATE chunk SET data = zeroblob(65536) WHERE id = \(id << 16 | 1)")

        // Without memory, because a body of four chunks would be read as a whole.
        store = try await openStore(folder.store, clock: clock) { $0.memoryBudget = 0 }
        let response = try #require(try await store.responses.lookup(try cacheKey("/x")).first)
        let after = try await bytes(of: response, 2 * Self.chunk..<4 * Self.chunk, in: store)
        #expect(after == body.getSlice(at: Int(2 * Self.chunk), length: Int(2 * Self.chunk)))
        #expect(try await bytes(of: response, 0..<Self.chunk, in: store)?.readableBytes == Int(Self.chunk))
        #expect(try await store.responses.openBody(of: response, range: Self.chunk + 9..<Self.chunk + 10) == nil)
        #expect(try await store.responses.openBody(of: response, range: 2 * Self.chunk - 1..<4 * Self.chunk) == nil)
        #expect(try await store.statistics().damagedReads == 2)
        let across = try #require(
            try await store.responses.openBody(of: response, range: Self.chunk - 1..<Self.chunk + 1)
        )
        #expect(await code { _ = try await across.collect(upTo: 99) } == .damaged)
        try await store.close()
    }

    @Test func partStaysReadableUntilItsStreamIsReleased() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let body = pattern(Int(5 * Self.chunk))
        let response = try #require(try await store.store(draft(try cacheKey("/x"), at: clock.now()), [body]))
        do {
            let part = try #require(
                try await store.responses.openBody(of: response, range: Self.chunk + 1..<4 * Self.chunk)
            )
            try await store.removeAll()
            try await store.settle()
            let bytes = try await part.collect(upTo: 1 << 20)
            #expect(bytes == body.getSlice(at: Int(Self.chunk) + 1, length: Int(3 * Self.chunk) - 1))
        }
        try await store.settle()
        #expect(try await store.statistics().unreferencedBodies == 0)
        #expect(try await store.responses.openBody(of: response, range: 0..<1) == nil)
        try await store.close()
    }
}
