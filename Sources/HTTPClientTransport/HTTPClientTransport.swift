import AsyncHTTPClient
public import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
public import Logging
import NIOCore
import NIOHTTP1
import Synchronization

/// The library's way to origin servers: AsyncHTTPClient, told to do nothing that a cache must not
/// have done behind its back.
///
/// No redirects are followed, no content is decoded, no cookies are kept, no request is repeated.
/// HTTP/1.1, and HTTP/2 where the origin offers it over TLS.
///
/// ```swift
/// let transport = HTTPClientTransport()
/// defer { … try await transport.shutDown() … }
/// ```
public final class HTTPClientTransport: Transport {
    /// Limits of one exchange. Every one has a default, because without a limit something hangs.
    public struct Configuration: Sendable, Hashable {
        /// The longest wait for a connection, TLS included. 10 seconds.
        public var connectTimeout: Duration
        /// The longest silence of the origin: before its head, and between two parts of its body.
        /// 30 seconds.
        public var idleTimeout: Duration
        /// Connections to one origin at a time over HTTP/1.1. Over HTTP/2 requests share one
        /// connection.
        ///
        /// `nil`, the default: as many as there are requests under way, so that none waits for a
        /// connection. The engine bounds those (`inFlightLimit`, 256 for one origin); responses
        /// that are read and not stored, downloads and streams among them, have theirs beside
        /// these.
        ///
        /// With a number further requests wait for one of so many, for ``connectTimeout`` at most.
        /// Then they fail as `overloaded`: nothing was sent, and nothing is said against the
        /// origin.
        public var connectionsPerOrigin: Int?
        /// How long a connection that is not in use is kept. 20 seconds.
        ///
        /// After a burst as many connections are kept as it had requests under way, each with a
        /// descriptor here and one at the origin.
        public var keptTime: Duration

        /// Limits for one exchange.
        public init(
            connectTimeout: Duration = .seconds(10),
            idleTimeout: Duration = .seconds(30),
            connectionsPerOrigin: Int? = nil,
            keptTime: Duration = .seconds(20)
        ) {
            self.connectTimeout = connectTimeout
            self.idleTimeout = idleTimeout
            self.connectionsPerOrigin = connectionsPerOrigin
            self.keptTime = keptTime
        }
    }

    /// Fields that belong to the connection or name the target a second time: they are the client's
    /// to set, or an answer would be stored under a target that it is not from. RFC 9110 §7.6.1,
    /// §7.2
    fileprivate static let framing: Set<String> = [
        "connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade",
    ]

    private let client: HTTPClient
    private let loops: LeastBusyLoops
    private let connections: BusyConnections
    private let handshakes = FirstHandshakes()
    private let isShutDown = Atomic(false)
    private let logger: Logger

    /// Makes a client of its own on the process's shared event loops. ``shutDown()`` ends it; it
    /// must be called before the transport is let go, or connections stay open until it is
    /// collected.
    public init(
        configuration: Configuration = Configuration(),
        logger: Logger = Logger(label: "holdfast.transport")
    ) {
        var settings = HTTPClient.Configuration()
        settings.redirectConfiguration = .disallow
        settings.decompression = .disabled
        settings.timeout.connect = TimeAmount(configuration.connectTimeout)
        settings.timeout.read = TimeAmount(configuration.idleTimeout)
        settings.timeout.write = TimeAmount(configuration.idleTimeout)
        let limit = max(1, configuration.connectionsPerOrigin ?? .max)
        settings.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = limit
        settings.connectionPool.idleTimeout = TimeAmount(configuration.keptTime)
        // An origin that refuses is away: the cache answers now, and does not wait while connecting
        // is tried again.
        settings.connectionPool.retryConnectionEstablishment = false
        // The engine makes the span of each request that is sent; a second one would say the same.
        settings.tracing.tracer = nil
        self.client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: settings)
        self.loops = LeastBusyLoops(client.eventLoopGroup)
        self.connections = BusyConnections(limit: limit)
        self.logger = logger
    }

    /// Ends every exchange and closes every connection.
    public func shutDown() async throws {
        guard !isShutDown.exchange(true, ordering: .relaxed) else { return }
        try await client.shutdown()
    }

    deinit {
        // A forgotten transport closes its connections all the same; there is nobody left to tell
        // of a failure.
        if !isShutDown.load(ordering: .relaxed) { client.shutdown { _ in } }
    }

    /// See ``Transport/send(_:)``.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard let target = request.target ?? TargetURI(request: request.head) else {
            throw TransportError(
                code: .invalidRequest,
                message: "The request names no http or https target. Set ':scheme', ':authority' and ':path'."
            )
        }
        // AsyncHTTPClient takes URLs through Foundation, which re-encodes some bytes and loses
        // paths that are no UTF-8. What is sent must be what was keyed: a target that would not
        // arrive as it stands is refused. What `TargetURI.init(_:)` lets pass, arrives.
        guard target.isAsParsed else {
            throw TransportError(
                code: .invalidRequest,
                message: "The target '\(target.redacted)' cannot be sent as it stands. Percent-encode it, as UTF-8."
            )
        }
        let origin = target.origin
        do { try await handshakes.enter(origin) } catch { throw TransportError(error, origin: origin) }
        defer { handshakes.leave(origin) }
        let lease = loops.take(for: target)
        defer { loops.give(back: lease) }
        let exchange = HTTPClientExchange(on: lease.loop, to: origin, connections, handshakes)
        if connections.areAllBusy(origin) { request.onWaiting?() }
        let answer: HTTPClientExchange.Answer
        do {
            let outgoing = try HTTPClient.Request(request, to: target, on: lease.loop)
            answer = try await exchange.answer { [client, logger] in
                client.execute(request: outgoing, delegate: $0, eventLoop: .delegate(on: lease.loop), logger: logger)
            }
        } catch {
            throw exchange.lackedConnection(error) ? .overloaded(origin, error) : TransportError(error, origin: origin)
        }
        let head = HTTPResponse(answer.head)
        if let content = answer.content { return TransportResponse(head: head, body: BodyStream(content)) }
        // Content-Length of an answer without content is about something else. RFC 9110 §8.6
        let isWithoutContent = request.head.method == .head || head.status.code == 204 || head.status.code == 304
        let length = isWithoutContent ? 0 : answer.head.headers["content-length"].first.flatMap { Int64($0) }
        return TransportResponse(head: head, body: BodyStream(exchange, length: length, origin: origin))
    }
}

extension TargetURI {
    /// For messages; the rest of the URL may hold secrets.
    fileprivate var origin: String { "\(scheme)://\(authority)" }
}

extension HTTPClient.Request {
    fileprivate init(_ request: TransportRequest, to target: TargetURI, on loop: any EventLoop) throws {
        var headers = HTTPHeaders()
        headers.reserveCapacity(request.head.headerFields.count + 1)
        for field in request.head.headerFields where !HTTPClientTransport.framing.contains(field.name.canonicalName) {
            headers.add(name: field.name.rawName, value: field.value)
        }
        try self.init(
            url: target.uri,
            method: HTTPMethod(rawValue: request.head.method.rawValue),
            headers: headers,
            body: request.body.map { HTTPClient.Body($0, on: loop) }
        )
    }
}

extension HTTPResponse {
    fileprivate init(_ response: HTTPResponseHead) {
        var fields = HTTPFields()
        fields.reserveCapacity(response.headers.count)
        for (name, value) in response.headers {
            // A field whose name is no token cannot be represented, and says nothing a cache could
            // act on.
            guard let name = HTTPField.Name(name) else { continue }
            fields.append(HTTPField(name: name, value: value))
        }
        self.init(
            status: Status(code: Int(response.status.code), reasonPhrase: response.status.reasonPhrase),
            headerFields: fields
        )
    }
}

extension TimeAmount {
    fileprivate init(_ duration: Duration) {
        self = .milliseconds(duration.clampedMilliseconds)
    }
}
