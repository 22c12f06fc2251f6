import HTTPCache
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import Synchronization
import Testing

/// A caller's context reaches the transport.
@Suite(.timeLimit(.minutes(20))) struct ContextTests {
    private let url = EngineFixture.url

    /// Records the contexts of its requests.
    private final class NotingTransport: Transport {
        let base: ScriptedTransport
        private let noted = Mutex<[String?]>([])
        /// Facts about one request.
        struct Note: Equatable {
            var isReported: Bool
            var isProbe = false
            var id: String?
        }
        private let all = Mutex<[Note]>([])
        var notes: [Note] { all.withLock { $0 } }

        init(_ base: ScriptedTransport) { self.base = base }

        var contexts: [String?] { noted.withLock { $0 } }

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            noted.withLock { $0.append(request.context as? String) }
            let id = request.head.headerFields[values: .requestID].joined(separator: ",")
            let note = Note(isReported: request.originReport != nil, isProbe: request.isProbe, id: id)
            all.withLock { $0.append(note) }
            return try await base.send(request)
        }
    }

    private func fixture(_ rules: (any ExchangeRules)? = nil) -> (EngineFixture, NotingTransport, CacheEngine) {
        let fixture = EngineFixture()
        let transport = NotingTransport(fixture.transport)
        var options = EngineOptions()
        options.hardTimeout = nil
        let engine = CacheEngine(
            store: fixture.memory,
            transport: transport,
            credentialSecret: [UInt8](repeating: 7, count: 32),
            options: options,
            rules: rules,
            parts: .init(clock: fixture.clock, sleeper: fixture.sleeper, jitter: { 1 }),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        return (fixture, transport, engine)
    }

    private func text(_ engine: CacheEngine, _ request: CacheRequest) async throws -> String {
        String(buffer: try await engine.respond(to: request).body.collect(upTo: 1 << 20))
    }

    @Test func contextReachesTransport() async throws {
        let (fixture, transport, engine) = fixture()
        fixture.transport.script(url, .fresh("stored"), .status(.ok))
        var request = try fixture.request()
        request.context = "mine"
        _ = try await text(engine, request)
        var forwarded = try fixture.request(method: .post)
        forwarded.context = "theirs"
        _ = try await text(engine, forwarded)
        #expect(transport.contexts == ["mine", "theirs"])
    }

    @Test func contextDoesNotAffectKey() throws {
        let (fixture, _, engine) = fixture()
        var request = try fixture.request()
        request.context = "mine"
        #expect(engine.key(for: request) == engine.key(for: try fixture.request()))
    }

    @Test func contextReachesBackgroundValidation() async throws {
        let (fixture, transport, engine) = fixture()
        fixture.transport.script(
            url,
            .ok("old", fields: [.cacheControl: "max-age=60, stale-while-revalidate=600"]),
            .fresh("new")
        )
        var request = try fixture.request()
        request.context = "first"
        _ = try await text(engine, request)
        fixture.clock.advance(by: .seconds(61))
        request.context = "second"
        #expect(try await text(engine, request) == "old")
        await fixture.transport.waitForRequests(2)
        #expect(transport.contexts == ["first", "second"])
        await engine.shutDown()
    }

    @Test func contextReachesProbe() async throws {
        let (fixture, transport, engine) = fixture()
        fixture.transport.script(url, .failure(.connect), .fresh("back"))
        var request = try fixture.request()
        request.context = "mine"
        await #expect(throws: ExchangeError.self) { try await text(engine, request) }
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .seconds(1))
        await fixture.transport.waitForRequests(2)
        #expect(transport.contexts == ["mine", "mine"])
        await engine.shutDown()
    }

    /// A probe's outcome is not that of the request whose failure it repeats.
    @Test(arguments: [false, true]) func probeReportsToNoRequest(hasRules: Bool) async throws {
        let (fixture, transport, engine) = fixture(hasRules ? TestRules { $0.requestFields = FieldEdits() } : nil)
        fixture.transport.script(url, .failure(.connect), .fresh("back"))
        var request = try fixture.request()
        request.originReport = OriginReport()
        await #expect(throws: ExchangeError.self) { try await text(engine, request) }
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .seconds(1))
        await fixture.transport.waitForRequests(2)
        #expect(transport.notes.map(\.isReported) == [true, false])
        #expect(transport.notes.map(\.isProbe) == [false, true])
        await engine.shutDown()
    }

    /// The first failure of a fetch in the background is repeated as a probe.
    @Test func probeAfterABackgroundFetchReportsToNoRequest() async throws {
        let (fixture, transport, engine) = fixture(TestRules { $0.requestFields = FieldEdits() })
        let fields: HTTPFields = [.cacheControl: "max-age=60, stale-while-revalidate=600"]
        fixture.transport.script(url, .ok("old", fields: fields), .failure(.connect), .fresh("back"))
        var request = try fixture.request()
        request.originReport = OriginReport()
        _ = try await text(engine, request)
        fixture.clock.advance(by: .seconds(61))
        #expect(try await text(engine, request) == "old")
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .seconds(1))
        await fixture.transport.waitForRequests(3)
        #expect(transport.notes.map(\.isReported) == [true, false, false])
        await engine.shutDown()
    }

    /// An ID is sent, and nothing else depends on it.
    @Test func requestIDsTellNoRequestsApart() async throws {
        let (fixture, transport, engine) = fixture()
        let fields: HTTPFields = [.cacheControl: "max-age=60", .vary: "X-Request-Id"]
        fixture.transport.script(url, .ok("stored", fields: fields))
        for id in ["one", "two"] {
            var request = try fixture.request()
            request.requestID = id
            #expect(try await text(engine, request) == "stored")
            let prepared = try #require(engine.prepare(request))
            let another = try #require(engine.prepare(try fixture.request()))
            #expect(prepared.asked == another.asked)
        }
        #expect(transport.notes.map(\.id) == ["one"])
    }

    /// Rules change what is sent, the ID included.
    @Test func rulesMayReplaceTheRequestID() async throws {
        let (fixture, transport, engine) = fixture(TestRules { $0.requestFields.set = [.requestID: "ours"] })
        fixture.transport.script(url, .fresh("a"))
        var request = try fixture.request()
        request.requestID = "one"
        _ = try await text(engine, request)
        #expect(transport.notes.map(\.id) == ["ours"])
    }
}

extension HTTPField.Name {
    fileprivate static let requestID = HTTPField.Name("X-Request-Id") ?? .userAgent
}
