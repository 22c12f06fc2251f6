import HTTP2Cases
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastGateway
import HoldfastTesting
import Logging
import NIOCore
import NIOPosix

/// A gateway in front of an origin without a socket, for the cases.
struct CaseGateway: Sendable {
    let port: Int

    /// Runs a gateway for the duration of the body.
    ///
    /// - Parameter group: its event loops.
    static func with<Value>(
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        _ body: (CaseGateway) async throws -> Value
    ) async throws -> Value {
        let logger = Logger(label: "http2") { _ in SwiftLogNoOpLogHandler() }
        // Nothing here is about time: limits are out of a busy machine's reach.
        let patience = Duration.seconds(3600)
        var configuration = GatewayConfiguration(origin: try GatewayOrigin("http://origin.example"), port: 0)
        configuration.timeouts.request = patience
        configuration.timeouts.head = patience
        configuration.timeouts.content = patience
        configuration.timeouts.slowContent = patience
        configuration.timeouts.write = patience
        // The client reads the last frames before it closes, however slow the machine is.
        configuration.timeouts.closing = patience
        configuration.timeouts.draining = .zero
        var options = EngineOptions()
        options.hardTimeout = patience
        let held = Gate()
        let engine = CacheEngine(
            store: InMemoryResponseStore(),
            transport: CaseTransport(held: held),
            policy: CachePolicy(kind: .shared),
            credentialSecret: [UInt8](repeating: 7, count: 32),
            options: options,
            parts: .init(clock: ManualClock()),
            logger: logger
        )
        let server = GatewayServer(
            configuration: configuration,
            engine: engine,
            group: group,
            clock: ManualClock(),
            logger: logger
        )
        let address = try await server.start()
        let outcome: Result<Value, any Error>
        do {
            outcome = .success(try await body(CaseGateway(port: address.port)))
        } catch {
            outcome = .failure(error)
        }
        held.open()
        await server.stop()
        await engine.shutDown()
        return try outcome.get()
    }

    func runner(on group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton) -> CaseRunner {
        CaseRunner(port: port, group: group, patience: .minutes(10))
    }
}

/// The origin of the cases: it reads a request's content, and responds with 16 bytes, or with
/// 100,000 for '/large'. For '/held' it does neither.
private struct CaseTransport: Transport {
    /// Opens at the end.
    let held: Gate

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        if request.head.path == "/held" { try await held.wait() }
        _ = try await request.body?.collect(upTo: 1 << 20)
        let content = request.head.path == "/large" ? String(repeating: "a", count: 100_000) : "0123456789abcdef"
        let fields: HTTPFields = [.cacheControl: "max-age=3600", .contentLength: String(content.utf8.count)]
        let head = HTTPResponse(status: .ok, headerFields: fields)
        let body = BodyStream(request.head.method == .head ? ByteBuffer() : ByteBuffer(string: content))
        return TransportResponse(head: head, body: body)
    }
}
