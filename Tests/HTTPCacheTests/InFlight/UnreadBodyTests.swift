import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import Synchronization
import TestSupport
import Testing

/// The fate of a response that is being stored when its last reader leaves.
@Suite(.timeLimit(.minutes(20))) struct UnreadBodyTests {
    private static let url = EngineFixture.url

    /// The fields of a response that may be stored.
    private static func fields(_ length: Int?, type: String? = nil) -> HTTPFields {
        var fields: HTTPFields = [.cacheControl: "max-age=60"]
        if let length { fields[.contentLength] = "\(length)" }
        if let type { fields[.contentType] = type }
        return fields
    }

    /// Callers that each read the beginning of a response.
    private func readers(_ count: Int, _ fixture: Fixture, _ url: String = url) async throws -> [CacheResponse] {
        try await withThrowingTaskGroup(of: CacheResponse.self) { group in
            for _ in 0..<count { group.addTask { try await fixture.engine.respond(to: fixture.request(url)) } }
            var responses: [CacheResponse] = []
            for try await response in group { responses.append(response) }
            return responses
        }
    }

    private struct Fixture {
        let origin = PushedOrigin()
        let sleeper = ManualDurationClock()
        let store = InMemoryResponseStore()
        let engine: CacheEngine

        init(_ change: (inout EngineOptions) -> Void = { _ in }) {
            var options = EngineOptions()
            options.hardTimeout = nil
            change(&options)
            engine = CacheEngine(
                store: store,
                transport: origin,
                credentialSecret: [UInt8](repeating: 7, count: 32),
                options: options,
                parts: .init(clock: ManualClock(), sleeper: sleeper),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        }

        func request(_ url: String = url) throws -> CacheRequest {
            CacheRequest(head: try HTTPRequest(url: url))
        }

        func untilIdle() async { while engine.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() } }

        /// The content that is stored.
        func stored() async throws -> String? {
            let key = try #require(engine.key(for: request()))
            guard let response = try await store.lookup(key).first else { return nil }
            guard let body = try await store.openBody(of: response) else { return nil }
            return String(buffer: try await body.collect(upTo: 1 << 30))
        }
    }

    @Test(arguments: [nil, 10_000]) func unreadBodyEndsAfterASecond(_ length: Int?) async throws {
        let fixture = Fixture()
        let exchange = fixture.origin.respond(Self.fields(length))
        var responses = try await readers(30, fixture)
        #expect(fixture.origin.requestCount == 1)
        responses.removeLast(29)
        #expect(fixture.sleeper.sleeperCount == 0)
        responses = []
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .milliseconds(999))
        #expect(fixture.engine.inFlightFetchCount == 1 && !exchange.isEnded)
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .milliseconds(1))
        await exchange.ended()
        await fixture.untilIdle()
        #expect(try await fixture.stored() == nil)
    }

    @Test(arguments: [nil, 10]) func remainingReaderKeepsBodyGoing(_ length: Int?) async throws {
        let fixture = Fixture()
        let exchange = fixture.origin.respond(Self.fields(length))
        var responses = try await readers(30, fixture)
        responses.removeLast(29)
        exchange.send("hello")
        fixture.sleeper.advance(by: .seconds(3600))
        exchange.send("world")
        exchange.finish()
        let text = String(buffer: try await responses[0].body.collect(upTo: 100))
        #expect(text == "helloworld")
        await fixture.untilIdle()
        #expect(try await fixture.stored() == "helloworld")
    }

    @Test(arguments: [nil, 10]) func bodyThatEndsWithinTheSecondIsStored(_ length: Int?) async throws {
        let fixture = Fixture()
        let exchange = fixture.origin.respond(Self.fields(length))
        _ = try await readers(1, fixture)
        exchange.send("helloworld")
        exchange.finish()
        await fixture.untilIdle()
        #expect(try await fixture.stored() == "helloworld")
    }

    @Test func newCallerWithinTheSecondKeepsBodyGoing() async throws {
        let fixture = Fixture()
        let exchange = fixture.origin.respond(Self.fields(nil))
        _ = try await readers(1, fixture)
        await fixture.sleeper.sleepers(atLeast: 1)
        let later = try await readers(1, fixture)
        #expect(fixture.origin.requestCount == 1)
        fixture.sleeper.advance(by: .seconds(3600))
        exchange.send("hello")
        exchange.finish()
        let text = String(buffer: try await later[0].body.collect(upTo: 100))
        #expect(text == "hello")
    }

    @Test func nearlyCompleteBodyHasTenSeconds() async throws {
        let fixture = Fixture()
        let exchange = fixture.origin.respond(Self.fields(10))
        _ = try await readers(1, fixture)
        await fixture.sleeper.sleepers(atLeast: 1)
        exchange.send("h")
        await exchange.isTaken()
        fixture.sleeper.advance(by: .seconds(1))
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .milliseconds(8999))
        #expect(!exchange.isEnded)
        exchange.send("elloworld")
        exchange.finish()
        await fixture.untilIdle()
        #expect(try await fixture.stored() == "helloworld")
    }

    @Test func lateBodyEndsAfterTenSeconds() async throws {
        let fixture = Fixture()
        let exchange = fixture.origin.respond(Self.fields(10))
        _ = try await readers(1, fixture)
        await fixture.sleeper.sleepers(atLeast: 1)
        exchange.send("h")
        await exchange.isTaken()
        fixture.sleeper.advance(by: .seconds(1))
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .seconds(9))
        await exchange.ended()
        await fixture.untilIdle()
        #expect(try await fixture.stored() == nil)
    }

    /// Mutant: `finishing-cancels-fetches`.
    @Test func unreadBodyIsStoredBeforeTheFetchesAreFinished() async throws {
        let fixture = Fixture()
        let exchange = fixture.origin.respond(Self.fields(10))
        _ = try await readers(1, fixture)
        async let finished: Void = fixture.engine.finishFetches()
        for _ in 0..<100 { await Task.yield() }
        exchange.send("helloworld")
        exchange.finish()
        await finished
        #expect(try await fixture.stored() == "helloworld")
    }

    @Test func fetchesThatDoNotEndAreFinishedAfterElevenSeconds() async throws {
        let fixture = Fixture()
        let exchange = fixture.origin.respond(Self.fields(10))
        let responses = try await readers(1, fixture)
        async let finished: Void = fixture.engine.finishFetches()
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .milliseconds(10_999))
        #expect(fixture.engine.inFlightFetchCount == 1 && !exchange.isEnded)
        await fixture.sleeper.sleepers(atLeast: 1)
        fixture.sleeper.advance(by: .milliseconds(1))
        await finished
        #expect(fixture.engine.inFlightFetchCount == 0 && responses.count == 1)
    }

    @Test(arguments: ["application/x-ndjson", "application/json-seq"])
    func streamEndsWithItsLastReader(_ type: String) async throws {
        let fixture = Fixture()
        let exchange = fixture.origin.respond(Self.fields(nil, type: type))
        var responses = try await readers(30, fixture)
        responses.removeLast(29)
        exchange.send("{}\n")
        var lines = responses[0].body.makeAsyncIterator()
        #expect(try await lines.next() == ByteBuffer(string: "{}\n"))
        #expect(!exchange.isEnded)
        lines = BodyStream.empty.makeAsyncIterator()
        responses = []
        // No clock was moved.
        await exchange.ended()
        await fixture.untilIdle()
    }

    @Test func fullyReadStreamIsStored() async throws {
        let fixture = Fixture()
        let exchange = fixture.origin.respond(Self.fields(nil, type: "application/x-ndjson"))
        let responses = try await readers(1, fixture)
        exchange.send("{}\n")
        exchange.finish()
        _ = try await responses[0].body.collect(upTo: 100)
        await fixture.untilIdle()
        #expect(try await fixture.stored() == "{}\n")
    }

    /// However many bodies are held up, and in any order.
    @Test(arguments: [nil, 10_000]) func unreadBodyEndsAtOnceIfRequestWaitsForItsPermit(
        _ length: Int?
    ) async throws {
        let fixture = Fixture { $0.inFlightLimit = 8 }
        let held = (0..<8).map { _ in fixture.origin.respond(Self.fields(length)) }
        for number in 0..<8 { _ = try await readers(1, fixture, "https://a.example/held/\(number)") }
        #expect(fixture.engine.inFlightFetchCount == 8)
        let answered = (0..<30).map { _ in fixture.origin.respond(Self.fields(2)) }
        for exchange in answered {
            exchange.send("ok")
            exchange.finish()
        }
        try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<30 {
                group.addTask {
                    let request = try fixture.request("https://a.example/wanted/\(number)")
                    return String(buffer: try await fixture.engine.respond(to: request).body.collect(upTo: 9))
                }
            }
            for try await text in group { #expect(text == "ok") }
        }
        for exchange in held { await exchange.ended() }
        #expect(fixture.sleeper.now == .init(.zero))
    }

    @Test func leavingReaderEndsBodyAtOnceIfRequestWaits() async throws {
        let fixture = Fixture { $0.inFlightLimit = 1 }
        let held = fixture.origin.respond(Self.fields(nil))
        let wanted = fixture.origin.respond(Self.fields(2))
        wanted.send("ok")
        wanted.finish()
        var responses = try await readers(1, fixture)
        async let second = fixture.engine.respond(to: try fixture.request("https://a.example/wanted"))
        while fixture.engine.inFlightFetchCount < 2, !Task.isCancelled { await Task.yield() }
        #expect(!held.isEnded)
        responses = []
        await held.ended()
        let text = String(buffer: try await second.body.collect(upTo: 9))
        #expect(text == "ok" && responses.isEmpty)
    }

    @Test func unreadBodyEndsAtOnceIfRequestWaitsForConnection() async throws {
        let fixture = Fixture()
        let held = fixture.origin.respond(Self.fields(nil))
        let wanted = fixture.origin.respond(Self.fields(2), waitsFor: held)
        wanted.send("ok")
        wanted.finish()
        _ = try await readers(1, fixture)
        let second = try await fixture.engine.respond(to: try fixture.request("https://a.example/wanted"))
        let text = String(buffer: try await second.body.collect(upTo: 9))
        #expect(text == "ok" && held.isEnded)
    }

    @Test func requestsToAnotherOriginEndNothing() async throws {
        let fixture = Fixture { $0.inFlightLimit = 1 }
        let held = fixture.origin.respond(Self.fields(nil))
        let busy = fixture.origin.respond(Self.fields(2))
        let wanted = fixture.origin.respond(Self.fields(2))
        _ = try await readers(1, fixture)
        let first = try await fixture.engine.respond(to: try fixture.request("https://b.example/busy"))
        async let second = fixture.engine.respond(to: try fixture.request("https://b.example/wanted"))
        while fixture.engine.inFlightFetchCount < 3, !Task.isCancelled { await Task.yield() }
        for exchange in [busy, wanted] {
            exchange.send("ok")
            exchange.finish()
        }
        let texts = [
            String(buffer: try await first.body.collect(upTo: 9)),
            String(buffer: try await second.body.collect(upTo: 9)),
        ]
        #expect(texts == ["ok", "ok"] && !held.isEnded)
        held.finish()
        await fixture.untilIdle()
    }
}

/// An origin that sends its responses piece by piece, as a test directs.
private final class PushedOrigin: Transport {
    /// One response.
    final class Exchange: Sendable {
        fileprivate let fields: HTTPFields
        fileprivate let blocker: Exchange?
        fileprivate let pieces = AsyncStream<String>.makeStream()
        private let end = Gate()
        private let hasEnded = Atomic(false)
        private let sent = Atomic(0)
        private let taken = Atomic(0)

        fileprivate init(_ fields: HTTPFields, _ blocker: Exchange?) {
            self.fields = fields
            self.blocker = blocker
        }

        var isEnded: Bool { hasEnded.load(ordering: .acquiring) }

        func send(_ text: String) {
            sent.add(1, ordering: .relaxed)
            pieces.continuation.yield(text)
        }

        func finish() { pieces.continuation.finish() }

        /// Waits until the sent bytes were taken and more are requested.
        func isTaken() async {
            while taken.load(ordering: .acquiring) <= sent.load(ordering: .acquiring), !Task.isCancelled {
                await Task.yield()
            }
        }

        /// Waits until its reader ends it.
        func ended() async { try? await end.wait() }

        private func markEnded() {
            hasEnded.store(true, ordering: .releasing)
            end.open()
        }

        /// Ends an exchange when its reader releases it. The reader may notice between two pieces
        /// that it must end, and then it takes no more.
        private final class Reading: Sendable {
            private let exchange: Exchange
            init(_ exchange: Exchange) { self.exchange = exchange }
            deinit { exchange.markEnded() }
        }

        fileprivate var body: BodyStream {
            BodyStream {
                var iterator = self.pieces.stream.makeAsyncIterator()
                let reading = Reading(self)
                return {
                    defer { withExtendedLifetime(reading) {} }
                    self.taken.add(1, ordering: .releasing)
                    let piece = await iterator.next(isolation: #isolation)
                    if Task.isCancelled {
                        self.markEnded()
                        throw CancellationError()
                    }
                    return piece.map { ByteBuffer(string: $0) }
                }
            }
        }
    }

    private let state = Mutex<(next: Int, exchanges: [Exchange])>((0, []))

    var requestCount: Int { state.withLock { $0.next } }

    /// Responds to the next request.
    ///
    /// - Parameter blocker: has the connection that the request needs.
    func respond(_ fields: HTTPFields, waitsFor blocker: Exchange? = nil) -> Exchange {
        let exchange = Exchange(fields, blocker)
        state.withLock { $0.exchanges.append(exchange) }
        return exchange
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let exchange = state.withLock { state in
            defer { state.next += 1 }
            return state.next < state.exchanges.count ? state.exchanges[state.next] : nil
        }
        guard let exchange else { throw TransportError(code: .other, message: "No response was made.") }
        if let blocker = exchange.blocker {
            request.onWaiting?()
            await blocker.ended()
        }
        return TransportResponse(head: HTTPResponse(status: .ok, headerFields: exchange.fields), body: exchange.body)
    }
}
