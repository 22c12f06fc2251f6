import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import Synchronization
import Testing

@testable import HTTPCache

/// The time limit that runs while a request is sent and its response arrives.
@Suite(.timeLimit(.minutes(20))) struct OriginWaitTests {
    enum Event: CaseIterable {
        case handOver, take, endContent, beginResponse, receiveInterim, receiveHead, ask, deliver

        func apply(to wait: inout OriginWait) -> OriginWait.Change {
            switch self {
            case .handOver: wait.handOver()
            case .take: wait.take()
            case .endContent: wait.endContent()
            case .beginResponse: wait.beginResponse()
            case .receiveInterim: wait.receiveInterim()
            case .receiveHead: wait.receiveHead()
            case .ask: wait.ask()
            case .deliver: wait.deliver()
            }
        }
    }

    /// Events, and the time limit that runs after each.
    @Test(
        arguments: [
            // No content: the head's limit, from the beginning.
            (false, [], [.head]),
            (false, [.beginResponse, .receiveHead, .ask, .deliver], [.head, .head, nil, .content, nil]),
            (false, [.beginResponse, .receiveInterim, .beginResponse], [.head, .head, .head, .head]),
            // Content: the origin's turn, the client's, the origin's, and then the head's limit.
            (true, [.take, .handOver, .take, .endContent], [.taking, nil, .taking, nil, .head]),
            // The end of the content waits to be taken like the content itself.
            (true, [.take, .handOver, .endContent, .take], [.taking, nil, .taking, .taking, .head]),
            // A response that begins early must continue, while the content continues too.
            (true, [.take, .beginResponse, .handOver, .receiveHead], [.taking, nil, .head, .head, nil]),
            // An interim response does not tell when the final one comes.
            (true, [.take, .beginResponse, .receiveInterim, .handOver], [.taking, nil, .head, nil, .taking]),
            (true, [.take, .endContent, .beginResponse, .receiveInterim], [.taking, nil, .head, .head, .head]),
        ] as [(Bool, [Event], [OriginWait.Running?])]
    )
    func oneTimeLimitRunsAtATime(hasContent: Bool, events: [Event], expected: [OriginWait.Running?]) {
        var wait = OriginWait(hasContent: hasContent)
        var running = [wait.running]
        for event in events {
            let before = wait.running
            let change = event.apply(to: &wait)
            running.append(wait.running)
            // A change names the new limit, and is none if the same limit continues.
            switch change {
            case .none: #expect(wait.running == before)
            case .stop: #expect(wait.running == nil && before != nil)
            case .begin(let begun): #expect(wait.running == begun && before != begun)
            }
        }
        #expect(running == expected)
    }

    /// In every sequence: no limit for a head runs before the content is sent, unless a response
    /// has begun. While it is the client's turn, no limit runs at all.
    @Test(arguments: 0..<8) func clientsTimeIsNotChargedToOrigin(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<500 {
            var wait = OriginWait(hasContent: true)
            var (isEnded, isOwed, hasBegun) = (false, true, false)
            for _ in 0..<12 {
                let event = Event.allCases[Int(random.next() % UInt64(Event.allCases.count))]
                _ = event.apply(to: &wait)
                switch event {
                case .handOver: if !isEnded { isOwed = true }
                case .take: isOwed = false
                case .endContent: isEnded = true
                case .beginResponse, .receiveHead: hasBegun = true
                case .receiveInterim, .ask, .deliver: break
                }
                if hasBegun { break }
                let expected: OriginWait.Running? = isOwed ? .taking : isEnded ? .head : nil
                #expect(wait.running == expected)
            }
        }
    }

    // MARK: The engine's own timing, for a transport that keeps none

    /// The steps in which a transport takes content.
    private final class PacedTransport: Transport {
        /// The number of pieces that it takes before it stops; `nil` for all.
        let pieces: Int?
        let responds: Bool
        let taken = Mutex(0)

        init(pieces: Int? = nil, responds: Bool = true) {
            self.pieces = pieces
            self.responds = responds
        }

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            if let body = request.body {
                var chunks = body.makeAsyncIterator()
                while pieces.map({ $0 > taken.withLock { $0 } }) ?? true, try await chunks.next() != nil {
                    taken.withLock { $0 += 1 }
                }
            }
            if pieces != nil || !responds { try await Gate().wait() }
            return TransportResponse(head: HTTPResponse(status: .ok), body: .empty)
        }
    }

    /// A client that sends its content piece by piece.
    private final class Client: Sendable {
        private let content = Mutex<(pieces: [ByteBuffer], isWhole: Bool)>(([], false))

        func yield(_ piece: ByteBuffer) { content.withLock { $0.pieces.append(piece) } }
        func finish() { content.withLock { $0.isWhole = true } }

        func next() async -> ByteBuffer? {
            while !Task.isCancelled {
                let (piece, isWhole) = content.withLock { content in
                    (content.pieces.isEmpty ? nil : content.pieces.removeFirst(), content.isWhole)
                }
                if piece != nil || isWhole { return piece }
                await Task.yield()
            }
            return nil
        }
    }

    private struct Upload {
        let sleeper = ManualDurationClock()
        let client = Client()
        let engine: CacheEngine

        init(_ transport: PacedTransport, limit: Duration) {
            var options = EngineOptions()
            options.hardTimeout = limit
            engine = CacheEngine(
                store: InMemoryResponseStore(),
                transport: transport,
                policy: CachePolicy(kind: .shared),
                credentialSecret: [UInt8](repeating: 7, count: 32),
                options: options,
                parts: .init(clock: ManualClock(), sleeper: sleeper),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        }

        func send(_ body: RequestBody? = nil) async throws -> Int {
            let client = client
            var request = CacheRequest(
                head: HTTPRequest(method: .post, scheme: "https", authority: "a.example", path: "/")
            )
            request.body =
                body
                ?? .stream(
                    BodyStream { { await client.next() } }
                )
            return try await engine.respond(to: request).head.status.code
        }
    }

    @Test func steadyUploadMayTakeLongerThanTheHardTimeout() async throws {
        let transport = PacedTransport()
        let upload = Upload(transport, limit: .seconds(5))
        async let status = upload.send()
        for piece in 1...4 {
            upload.client.yield(ByteBuffer(string: "piece"))
            while transport.taken.withLock({ $0 }) < piece, !Task.isCancelled { await Task.yield() }
            upload.sleeper.advance(by: .seconds(4))
        }
        upload.client.finish()
        #expect(try await status == 200)
    }

    @Test(arguments: [PacedTransport(responds: false), PacedTransport(pieces: 1), PacedTransport(pieces: 0)])
    private func stalledOriginTimesOut(_ transport: PacedTransport) async throws {
        let upload = Upload(transport, limit: .seconds(5))
        upload.client.yield(ByteBuffer(string: "piece"))
        upload.client.finish()
        let sleeper = upload.sleeper
        // Ends the origin's turn whenever it begins.
        let time = Task {
            while !Task.isCancelled {
                sleeper.advance(by: .seconds(5))
                await Task.yield()
            }
        }
        let error = await #expect(throws: ExchangeError.self) { try await upload.send() }
        time.cancel()
        #expect((error?.cause as? TransportError)?.code == .timeout)
    }

    @Test func lackOfConnectionIsNoOutage() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, repeating: .failure(.overloaded))
        for _ in 0..<30 {
            let error = await #expect(throws: ExchangeError.self) { try await fixture.get() }
            #expect(error?.code == .overloaded && error?.status == 503)
        }
        #expect(fixture.transport.requests.count == 30)
        fixture.transport.script(EngineFixture.url, .fresh("back"))
        #expect(try await fixture.get().text == "back")
    }

    /// The hard timeout ends it. The origin was never asked, so it was not silent.
    @Test func timeoutWhileWaitingForConnectionIsNoOutage() async throws {
        struct Busy: Transport {
            let waits: AsyncStream<Void>.Continuation
            func send(_ request: TransportRequest) async throws -> TransportResponse {
                waits.yield()
                do { try await Gate().wait() } catch {
                    throw TransportError(code: .overloaded, message: "Every connection is in use.", cause: error)
                }
                return TransportResponse(head: HTTPResponse(status: .ok), body: .empty)
            }
        }
        let (waits, continuation) = AsyncStream<Void>.makeStream()
        let sleeper = ManualDurationClock()
        let engine = CacheEngine(
            store: InMemoryResponseStore(),
            transport: Busy(waits: continuation),
            credentialSecret: [UInt8](repeating: 7, count: 32),
            parts: .init(sleeper: sleeper),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        var iterator = waits.makeAsyncIterator()
        // As often as it would take to treat the origin as unreachable.
        for number in 0..<5 {
            let request = try EngineFixture().request("https://a.example/\(number)")
            let call = Task { try await engine.respond(to: request) }
            _ = await iterator.next()
            await sleeper.sleepers(atLeast: 1)
            sleeper.advance(by: .seconds(60))
            let error = await #expect(throws: ExchangeError.self) { _ = try await call.value }
            #expect(error?.code == .overloaded && error?.status == 503)
        }
        await engine.shutDown()
    }

    @Test func outOfDescriptorsIsNoOutage() async throws {
        let fixture = EngineFixture()
        // Several targets: one that fails alone would be rejected by itself.
        let targets = (0..<3).map { "https://a.example/\($0)" }
        for target in targets { fixture.transport.script(target, repeating: .failure(.outOfDescriptors)) }
        for number in 0..<30 {
            let error = await #expect(throws: ExchangeError.self) { try await fixture.get(targets[number % 3]) }
            #expect(error?.code == .overloaded && error?.status == 503)
        }
        #expect(fixture.transport.requests.count == 30)
        fixture.transport.script(EngineFixture.url, .fresh("back"))
        #expect(try await fixture.get().text == "back")
    }
}
