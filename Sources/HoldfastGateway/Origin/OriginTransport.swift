public import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
public import Logging
public import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// The gateway's way to its origins: HTTP/1.1 over SwiftNIO, octets as they came, connections to each kept for its next request.
///
/// A request goes to the wire once. Only where a kept connection turns out dead before any octet of an answer is it sent again, once and on
/// a new connection, and only with an idempotent method (RFC 9110 §9.2.2) and content that is still there. A connection on which anything unexpected
/// happened takes no other request.
public final class OriginTransport: Transport {
    /// What a transport is made with. Every limit has a default.
    public struct Configuration: Sendable {
        /// Whose origins requests may go to, and to no others; with one origin every request goes there, whatever its authority. `nil` to go where the request's authority says.
        public var routes: GatewayRoutes?
        /// See ``MessageLimits``; for responses.
        public var messageLimits = MessageLimits()
        /// For a connection. 10 s
        public var connectTimeout = Duration.seconds(10)
        /// From the last octet sent to the first of an answer. 60 s
        public var firstByteTimeout = Duration.seconds(60)
        /// Between octets of an answer that are waited for. 60 s
        public var readTimeout = Duration.seconds(60)
        /// How long a connection is kept without a request. 30 s
        public var idleTimeout = Duration.seconds(30)
        /// Connections kept for each origin; one more is closed after its exchange. 64
        public var maximumIdleConnections = 64
        /// A PEM file of the certificates that are trusted in place of the system's.
        public var trustRootsFile: String?

        /// The defaults.
        public init() {}
    }

    let configuration: Configuration
    let group: any EventLoopGroup
    let logger: Logger
    let pool: OriginPool
    let routesInUse: Mutex<RoutesInUse>
    private let tls: NIOSSLContext

    /// - Parameter group: connections are spread over its event loops.
    /// - Throws: what NIOSSL says of a trust roots file that cannot be read.
    public init(configuration: Configuration = Configuration(), group: any EventLoopGroup, logger: Logger) throws {
        self.configuration = configuration
        self.group = group
        self.logger = logger
        self.routesInUse = Mutex(RoutesInUse(configuration.routes))
        self.pool = OriginPool(limit: configuration.maximumIdleConnections)
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.applicationProtocols = ["http/1.1"]
        if let file = configuration.trustRootsFile { tls.trustRoots = .file(file) }
        self.tls = try NIOSSLContext(configuration: tls)
    }

    /// Closes the connections that are kept, and keeps none any more. Exchanges under way go on.
    public func shutDown() async {
        for connection in pool.close() { await connection.close() }
    }

    /// See `Transport`: with the timers of its loops.
    public var keepsTimeouts: Bool { true }

    /// See `Transport`.
    ///
    /// - Throws: `TransportError`
    @concurrent
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        let message = try await OriginRequest(request, routes: routes(for: request.head))
        let eventLoop = MultiThreadedEventLoopGroup.currentEventLoop
        if let connection = pool.take(message.endpoint, near: eventLoop) {
            do {
                return try await exchange(message, request, on: connection)
            } catch let failure as OriginFailure {
                guard !Task.isCancelled, failure.isUnsent || failure.isBeforeAnswer && message.isRepeatable,
                    failure.error.code == .connectionClosed
                else { throw failure.error }
                logger.debug("Kept connection was dead", metadata: ["origin.authority": "\(message.endpoint)"])
            }
        }
        do {
            return try await exchange(message, request, on: connect(to: message, on: eventLoop))
        } catch let failure as OriginFailure {
            throw failure.error
        }
    }

    private func exchange(
        _ message: OriginRequest,
        _ request: TransportRequest,
        on connection: OriginConnection
    ) async throws -> TransportResponse {
        let number = OriginConnection.nextNumber()
        return try await withTaskCancellationHandler {
            let answer = try await connection.begin(number, message, onInterim: request.onInformational)
            let upload = message.body.map { body in
                // A task of its own: an origin may answer before it has read everything.
                Task { await connection.upload(body, isChunked: message.isChunked, number) }
            }
            let received: OriginAnswer
            do {
                received = try await answer.get()
            } catch {
                upload?.cancel()
                throw Task.isCancelled ? CancellationError() : error
            }
            let head = received.head
            if let whole = received.whole {
                upload?.cancel()
                return TransportResponse(head: head.response, body: BodyStream(whole))
            }
            let body = OriginBody(connection: connection, number: number, upload: upload)
            return TransportResponse(head: head.response, body: body.stream(head.framing))
        } onCancel: {
            connection.abandon(number)
        }
    }

    /// - Parameter eventLoop: where the caller runs; `nil` where that is none.
    private func connect(to message: OriginRequest, on eventLoop: (any EventLoop)?) async throws -> OriginConnection {
        let endpoint = message.endpoint
        let tls = tls
        let configuration = configuration
        let pool = pool
        do {
            let channel = try await ClientBootstrap(group: eventLoop ?? group)
                .connectTimeout(min(configuration.connectTimeout.timeAmount, message.timeLeft))
                .channelOption(.autoRead, value: false)
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        if endpoint.isSecure {
                            try channel.pipeline.syncOperations.addHandler(
                                NIOSSLClientHandler(context: tls, serverHostname: endpoint.serverName)
                            )
                        }
                        let handler = OriginConnectionHandler(
                            endpoint: endpoint,
                            configuration: configuration,
                            pool: pool,
                            eventLoop: channel.eventLoop
                        )
                        try channel.pipeline.syncOperations.addHandler(handler)
                    }
                }
                .connect(host: endpoint.connectHost, port: Int(endpoint.port))
                .get()
            return try await channel.eventLoop.submit {
                let handler = try channel.pipeline.syncOperations.handler(type: OriginConnectionHandler.self)
                return handler.connection ?? OriginConnection(handler: handler, channel: channel)
            }.get()
        } catch {
            throw OriginFailure(error: TransportError(connecting: endpoint, error), isBeforeAnswer: true)
        }
    }
}

extension OriginRequest {
    /// How long the head of its answer may still take.
    fileprivate var timeLeft: TimeAmount {
        headEnd.map { max($0 - .now(), .milliseconds(1)) } ?? .nanoseconds(.max)
    }
}

/// A failure on a connection, and whether the origin can have seen the request and answered.
struct OriginFailure: Error {
    var error: TransportError
    /// No octet of an answer had come.
    var isBeforeAnswer: Bool
    /// No octet of the request had gone: it is anybody's to send.
    var isUnsent = false
}

extension TransportError {
    fileprivate init(connecting endpoint: OriginEndpoint, _ error: any Error) {
        switch error {
        case let error as NIOConnectionError where error.connectionErrors.isEmpty:
            self.init(code: .nameResolution, message: "The name in '\(endpoint)' does not resolve.", cause: error)
        case ChannelError.connectTimeout:
            self.init(code: .connectTimeout, message: "'\(endpoint)' did not take a connection in time.", cause: error)
        case let error as NIOConnectionError
        where error.connectionErrors.allSatisfy {
            if case ChannelError.connectTimeout = $0.error { true } else { false }
        }:
            self.init(code: .connectTimeout, message: "'\(endpoint)' did not take a connection in time.", cause: error)
        case is NIOSSLError, is BoringSSLError:
            self.init(code: .tls, message: "TLS cannot be used with '\(endpoint)'.", cause: error)
        default:
            self.init(code: .connect, message: "'\(endpoint)' could not be connected to.", cause: error)
        }
    }
}
