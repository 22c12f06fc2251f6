import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import Testing

@testable import HTTPWire
@testable import HoldfastGateway

/// Responses in a hot table.
@Suite(.timeLimit(.minutes(20)))
struct HotTableTests {
    /// Hits on an engine whose store has a response of a given size for every path.
    private func hotResponse(_ path: String, bytes: Int = 10) async throws -> HotResponse {
        let store = InMemoryResponseStore(hasResidentBodies: true)
        let clock = ManualClock()
        let engine = CacheEngine(
            store: store,
            transport: ScriptedTransport(),
            policy: CachePolicy(kind: .shared),
            credentialSecret: Array(repeating: 7, count: 32),
            parts: .init(clock: clock),
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
        let writer = try #require(try await store.beginWrite(draft, fencingNumber: store.invalidationSequence))
        try await writer.append(ByteBuffer(repeating: 0x78, count: bytes))
        _ = try await writer.finish()
        let prepared = try #require(engine.prepare(request))
        guard case .serve(let hit) = engine.attempt(on: prepared).begin() else { throw NoHit() }
        let bytes = ByteBuffer(string: "GET \(path) HTTP/1.1\r\nHost: a.example\r\n\r\n")
        let key = HotKey(bytes, of: [], settings: engine.settingsVersion)
        let received = GatewayRequest(
            method: .get,
            target: path,
            authority: RequestedHost("a.example"),
            fields: [:],
            receivedProtocol: .http11,
            content: .none
        )
        let head = GatewayResponseHead(
            response: hit.response.head,
            facts: ExchangeFacts(hit.response),
            via: "1.1 g",
            cacheStatus: "holdfast; hit; ttl=60"
        )
        let template = try #require(HeadTemplate(Self.head, TimeOffsets(age: 22..<23, timeToLive: 58..<60)))
        let table = HotTable()
        let conditions = try #require(hit.conditions)
        HotCandidate(key, conditions, received, RouteLabels.none, in: table).keep(
            head,
            hit.content,
            as: .http1(template)
        )
        return try #require(table.response(to: key))
    }

    private static let head = ByteBuffer(
        string: "HTTP/1.1 200 OK\r\nAge: 0\r\nCache-Status: holdfast; hit; ttl=60\r\n\r\n"
    )

    private struct NoHit: Error {}

    private func key(_ response: HotResponse) -> HotKey {
        HotKey(head: response.request, hash: response.hash, settings: 0)
    }

    @Test func tellsTraitsApart() async throws {
        let table = HotTable()
        let bytes = ByteBuffer(string: "GET /a HTTP/1.1\r\nHost: a.example\r\n\r\n")
        let allTraits = (0..<4).map { ClientTraits(rawValue: $0) }
        #expect(Set(allTraits.map { HotKey(bytes, of: $0, settings: 0).hash }).count == 4)
        table.keep(try await hotResponse("/a"))
        for traits in allTraits {
            let found = table.response(to: HotKey(bytes, of: traits, settings: 0))
            #expect((found != nil) == traits.isEmpty)
        }
    }

    @Test func findsByAllBytes() async throws {
        let table = HotTable()
        let response = try await hotResponse("/a")
        table.keep(response)
        #expect(table.response(to: key(response)) === response)
        let other = ByteBuffer(string: "GET /b HTTP/1.1\r\nHost: a.example\r\n\r\n")
        // The same place in the table, but not the same bytes.
        #expect(table.response(to: HotKey(head: other, hash: response.hash, settings: 0)) == nil)
        table.forget(response)
        #expect(table.response(to: key(response)) == nil)
        #expect(table.count == 0)
    }

    @Test func keepsResponseOnlyWhenItsRequestComesAgain() {
        let table = HotTable()
        #expect(!table.markSeen(hash: 12_345))
        #expect(table.markSeen(hash: 12_345))
        #expect(!table.markSeen(hash: 54_321 << 20))
    }

    @Test func isBoundedInNumber() async throws {
        let table = HotTable(sets: 2, limit: 1 << 20)
        for index in 0..<40 { table.keep(try await hotResponse("/\(index)")) }
        #expect(table.count <= 8)
        #expect(table.count > 0)
    }

    @Test func isBoundedInBytes() async throws {
        let table = HotTable(sets: 64, limit: 64 << 10)
        let large = try await hotResponse("/large", bytes: 10_000)
        table.keep(large)
        #expect(table.count == 0, "An eighth of the limit is the most that one response takes.")
        for index in 0..<100 { table.keep(try await hotResponse("/\(index)", bytes: 2_000)) }
        #expect(table.count > 5)
        #expect(table.count < 16)
    }
}

@Suite(.timeLimit(.minutes(20))) struct HeadEndTests {
    @Test(
        arguments: [
            ("", nil), ("GET / HTTP/1.1\r\nHost: a\r\n", nil), ("\r\n\r\n", 4), ("a\r\n\r\n", 5), ("ab\r\n\r\nx", 6),
            ("abc\r\n\r\n", 7), ("abcd\r\n\r\n\r\n", 8), ("a\n\nb\r\r\n\r\n", 9), ("\r\n\r", nil),
            ("a\r\n\rb\r\n\r\n", 9),
            ("a\n\r\n", nil),
        ] as [(String, Int?)]
    )
    func headEndsAfterTheFirstEmptyLine(text: String, length: Int?) {
        #expect(Array(text.utf8).withUnsafeBytes { HeadEnd.length(of: $0) } == length)
    }
}
