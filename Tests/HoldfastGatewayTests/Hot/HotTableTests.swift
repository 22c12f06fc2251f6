import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import Testing

@testable import HoldfastGateway

@Suite("Answers that a loop keeps")
struct HotTableTests {
    /// Hits on an engine whose store has a response for every path, of so many bytes.
    private func answer(_ path: String, bytes: Int = 10) async throws -> HotResponse {
        let store = InMemoryResponseStore(hasResidentBodies: true)
        let clock = ManualClock()
        let engine = CacheEngine(
            store: store,
            transport: ScriptedTransport(),
            policy: CachePolicy(kind: .shared),
            credentialSecret: Array(repeating: 7, count: 32),
            clock: clock,
            logger: Logger(label: "engine") { _ in SwiftLogNoOpLogHandler() }
        )
        let request = CacheRequest(
            head: HTTPRequest(method: .get, scheme: "http", authority: "a.example", path: path)
        )
        let draft = ResponseDraft(
            key: try #require(engine.key(for: request)),
            head: StoredResponseHead(
                status: .ok,
                fields: [.cacheControl: "max-age=60"],
                requestTime: clock.now(),
                responseTime: clock.now()
            ),
            freshUntil: clock.now().adding(.seconds(60)),
            isUsableStale: true,
            storedAt: clock.now()
        )
        let writer = try #require(try await store.beginWrite(draft, fence: store.invalidationSequence))
        try await writer.append(ByteBuffer(repeating: 0x78, count: bytes))
        _ = try await writer.finish()
        let prepared = try #require(engine.prepare(request))
        let hit = try #require(engine.residentHit(for: prepared))
        let bytes = ByteBuffer(string: "GET \(path) HTTP/1.1\r\nHost: a.example\r\n\r\n")
        return try #require(
            HotResponse(
                request: bytes,
                hash: HotTable.hash(bytes),
                head: ByteBuffer(string: "HTTP/1.1 200 OK\r\nAge: 0\r\nCache-Status: holdfast; hit; ttl=60\r\n\r\n"),
                hit: hit,
                method: .get
            )
        )
    }

    @Test func findsByAllBytes() async throws {
        let table = HotTable()
        let answer = try await answer("/a")
        table.keep(answer)
        #expect(table.answer(to: answer.request, hash: answer.hash) === answer)
        let other = ByteBuffer(string: "GET /b HTTP/1.1\r\nHost: a.example\r\n\r\n")
        // The same place in the table, and not the same bytes.
        #expect(table.answer(to: other, hash: answer.hash) == nil)
        table.forget(answer)
        #expect(table.answer(to: answer.request, hash: answer.hash) == nil)
        #expect(table.count == 0)
    }

    @Test("A request is remembered when it comes again, and not at once") func admitsTheSecondTime() {
        let table = HotTable()
        #expect(!table.isSeenAgain(hash: 12_345))
        #expect(table.isSeenAgain(hash: 12_345))
        #expect(!table.isSeenAgain(hash: 54_321 << 20))
    }

    @Test func isBoundedInNumber() async throws {
        let table = HotTable(sets: 2, limit: 1 << 20)
        for index in 0..<40 { table.keep(try await answer("/\(index)")) }
        #expect(table.count <= 8)
        #expect(table.count > 0)
    }

    @Test func isBoundedInBytes() async throws {
        let table = HotTable(sets: 64, limit: 64 << 10)
        let large = try await answer("/large", bytes: 10_000)
        table.keep(large)
        #expect(table.count == 0, "An eighth of the limit is the most that one answer takes.")
        for index in 0..<100 { table.keep(try await answer("/\(index)", bytes: 2_000)) }
        #expect(table.count > 5)
        #expect(table.count < 16)
    }
}

@Suite("The end of a head")
struct HeadEndTests {
    @Test(
        "Is after the first empty line, wherever that is",
        arguments: [
            ("", nil), ("GET / HTTP/1.1\r\nHost: a\r\n", nil), ("\r\n\r\n", 4), ("a\r\n\r\n", 5), ("ab\r\n\r\nx", 6),
            ("abc\r\n\r\n", 7), ("abcd\r\n\r\n\r\n", 8), ("a\n\nb\r\r\n\r\n", 9), ("\r\n\r", nil),
            ("a\r\n\rb\r\n\r\n", 9),
            ("a\n\r\n", nil),
        ] as [(String, Int?)]
    )
    func findsTheFirst(text: String, length: Int?) {
        #expect(Array(text.utf8).withUnsafeBytes { HeadEnd.length(of: $0) } == length)
    }
}
