import Dispatch
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import NIOPosix
import Testing

@testable import EventLoops
@testable import HTTPWire
@testable import HoldfastGateway

/// One exchange and its writer, without a connection: the rules that hold for every protocol of
/// clients.
@Suite(.timeLimit(.minutes(20))) struct ClientExchangeTests {
    /// Records what it is told to write.
    private final class RecordingWriter: ClientResponseWriter {
        var events: [String] = []

        func inform(_ head: HTTPResponse) { events.append("\(head.status.code)") }

        func respond(with response: GatewayResponse) {
            switch response {
            case .stored(let head, _, _), .whole(let head, _): events.append("\(head.response.status.code)")
            case .stream(let head, length: _): events.append("\(head.response.status.code) stream")
            case .relayed(let response, _): events.append("\(response.status) relayed")
            }
        }

        func write(_ content: ByteBuffer) -> EventLoopFuture<Void>? {
            events.append(String(buffer: content))
            return nil
        }

        func finish(_ trailers: HTTPFields?) { events.append("end") }
        func abort() { events.append("abort") }
    }

    private final class NoContent: RequestContent {
        func nextContent() -> EventLoopFuture<ContentDecoder.Event>? { nil }
        func discardContent() {}
    }

    /// Runs a test on an event loop, with an exchange that nothing serves unless the test begins
    /// it.
    private func onLoop(
        _ test: @escaping @Sendable (ClientExchange, RecordingWriter) throws -> Void
    ) async throws {
        let logger = Logger(label: "gateway") { _ in SwiftLogNoOpLogHandler() }
        let clock = ManualClock()
        let engine = CacheEngine(
            store: InMemoryResponseStore(),
            transport: ScriptedTransport(),
            policy: CachePolicy(kind: .shared),
            credentialSecret: Array(repeating: 7, count: 32),
            parts: .init(clock: clock),
            logger: logger
        )
        let configuration = GatewayConfiguration(origin: try GatewayOrigin("http://127.0.0.1:1"), port: 0)
        let service = GatewayService(
            configuration: configuration,
            engine: engine,
            instance: 1,
            clock: clock,
            logger: logger
        )
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        try await eventLoop.submit {
            let session = ClientSession(
                service: service,
                client: GatewayClient(address: "127.0.0.1"),
                executor: LoopExecutor(eventLoop),
                lookups: DiskLookups(eventLoop),
                telemetry: LoopTelemetry(RequestSeries()),
                hot: HotTable()
            )
            let writer = RecordingWriter()
            let request = GatewayRequest(
                method: .get,
                target: "/",
                authority: RequestedHost("g"),
                fields: [:],
                receivedProtocol: .http11,
                content: .none
            )
            try test(ClientExchange(request, of: session, content: NoContent(), to: writer, in: nil), writer)
        }.get()
    }

    private static let hint = HTTPResponse(status: HTTPResponse.Status(code: 103))

    private static let head = GatewayResponseHead(
        response: HTTPResponse(status: .ok),
        facts: .relayed,
        via: "1.1 g",
        cacheStatus: "g; fwd=miss"
    )

    @Test(arguments: [false, true]) func writesInterimResponsesOnlyBeforeTheFinalHead(isStream: Bool) async throws {
        try await onLoop { exchange, writer in
            exchange.inform(Self.hint)
            exchange.inform(HTTPResponse(status: .switchingProtocols))
            if isStream {
                exchange.startStream(Self.head, length: nil)
            } else {
                exchange.finish(with: .whole(Self.head, ByteBuffer()))
            }
            exchange.inform(Self.hint)
            if isStream { exchange.finishStream(nil) }
            exchange.inform(Self.hint)
            #expect(writer.events == (isStream ? ["103", "200 stream", "end"] : ["103", "200"]))
        }
    }

    @Test func interimResponsesOfThirtyThreadsComeBeforeOvertakingFinalHead() async throws {
        try await onLoop { exchange, writer in
            let threads = DispatchGroup()
            for _ in 0..<30 { DispatchQueue.global().async(group: threads) { exchange.inform(Self.hint) } }
            // The loop is kept here until all of them are on their way to it.
            threads.wait()
            exchange.finish(with: .whole(Self.head, ByteBuffer()))
            #expect(writer.events == Array(repeating: "103", count: 30) + ["200"])
        }
    }

    @Test func exchangeWhoseClientHasGoneWritesNothing() async throws {
        try await onLoop { exchange, writer in
            exchange.begin()
            exchange.cancel()
            exchange.inform(Self.hint)
            #expect(exchange.isOver)
            #expect(writer.events.isEmpty)
        }
    }
}
