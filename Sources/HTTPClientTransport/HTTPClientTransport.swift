import AsyncHTTPClient
public import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
public import Logging
import NIOCore
import NIOHTTP1
import Synchronization

/// The library's transport to origin servers. It uses AsyncHTTPClient and disables everything that
/// would hide something from the cache.
///
/// It does not follow redirects, decode content, store cookies or retry requests. It uses HTTP/1.1,
/// or HTTP/2 if the origin offers it over TLS.
///
/// ```swift
/// let transport = HTTPClientTransport()
/// defer { … try await transport.shutDown() … }
/// ```
public final class HTTPClientTransport: Transport {
    /// Limits for one exchange. Each has a default, because an exchange without a limit could hang.
    public struct Configuration: Sendable, Hashable {
        /// The maximum time to wait for a connection, including TLS. The default is 10 seconds.
        public var connectTimeout: Duration
        /// The maximum silence of the origin: before the head, and between two parts of the body.
        /// The default is 30 seconds.
        public var idleTimeout: Duration
        /// The maximum number of concurrent HTTP/1.1 connections to one origin. HTTP/2 requests
        /// share one connection.
        ///
        /// The default, `nil`, allows one connection for each in-flight request, so that no request
        /// waits for a connection. The engine limits these requests (`inFlightLimit`, 256 per
        /// origin). Responses that are read but not stored, such as downloads and streams, have
        /// their own limit.
        ///
        /// With a limit, further requests wait for a free connection for up to ``connectTimeout``.
        /// Then they fail as `overloaded`: nothing was sent, and the origin does not count as
        /// unreachable.
        public var connectionsPerOrigin: Int?
        /// How long an idle connection is kept. The default is 20 seconds.
        ///
        /// After a burst, the number of idle connections equals the number of concurrent requests
        /// in the burst. Each one uses a descriptor here and one at the origin.
        public var keptTime: Duration

        /// Creates limits for one exchange.
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

    /// Fields that belong to the connection or repeat the target. Only the client sets them:
    /// otherwise a response could be stored under a target that it does not come from. RFC 9110
    /// §7.6.1, §7.2
    fileprivate static let framing: Set<String> = [
        "connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade",
    ]

    private let client: HTTPClient
    private let loops: LeastBusyLoops
    private let connections: BusyConnections
    private let handshakes = FirstHandshakes()
    private let isShutDown = Atomic(false)
    private let logger: Logger

    /// Creates a separate client on the process's shared event loops. Call ``shutDown()`` before
    /// releasing the transport; otherwise connections stay open until it is deallocated.
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
        // An origin that refuses a connection is unreachable: the cache responds immediately
        // instead of waiting for the client's retries.
        settings.connectionPool.retryConnectionEstablishment = false
        // The engine creates the span for each request; a span by the client would be a duplicate.
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
        // A transport that was not shut down still closes its connections, but no caller is left to
        // receive an error.
        if !isShutDown.load(ordering: .relaxed) { client.shutdown { _ in } }
    }

    /// See ``Transport/send(_:)``.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard let target = request.target ?? TargetURI(request: request.head) else {
            throw TransportError(
                code: .invalidRequest,
                message: "The request has no http or https target. Set ':scheme', ':authority' and ':path'."
            )
        }
        // AsyncHTTPClient passes URLs through Foundation, which re-encodes some bytes and loses
        // paths that are not UTF-8. The transport must send exactly the target in the key, so it
        // rejects a target that would change. A target that `TargetURI.init(_:)` accepts does not
        // change.
        guard target.parsesUnchanged else {
            throw TransportError(
                code: .invalidRequest,
                message: "The target '\(target.redacted)' cannot be sent unchanged. Percent-encode it, as UTF-8."
            )
        }
        let origin = target.origin
        do { try await handshakes.enter(origin) } catch { throw TransportError(error, origin: origin) }
        defer { handshakes.leave(origin) }
        let lease = loops.take(for: target)
        defer { loops.give(back: lease) }
        let exchange = HTTPClientExchange(on: lease.loop, to: origin, connections, handshakes)
        if connections.areAllBusy(origin) { request.onWaiting?() }
        let start: HTTPClientExchange.ResponseStart
        do {
            let outgoing = try HTTPClient.Request(request, to: target, on: lease.loop)
            start = try await exchange.send { [client, logger] in
                client.execute(request: outgoing, delegate: $0, eventLoop: .delegate(on: lease.loop), logger: logger)
            }
        } catch {
            throw exchange.foundNoConnection(error) ? .overloaded(origin, error) : TransportError(error, origin: origin)
        }
        let head = HTTPResponse(start.head)
        if let content = start.content { return TransportResponse(head: head, body: BodyStream(content)) }
        // The Content-Length of a response without content describes other content. RFC 9110 §8.6
        let isWithoutContent = request.head.method == .head || head.status.code == 204 || head.status.code == 304
        let length =
            isWithoutContent ? 0 : start.head.headers["content-length"].first.flatMap { StatedLength(digits: $0) }
        return TransportResponse(head: head, body: BodyStream(exchange, length: length, origin: origin))
    }
}

extension TargetURI {
    /// The origin, for messages. The rest of the URL may contain secrets.
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
            // A field whose name is not a token cannot be represented, and no cache could use it.
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
