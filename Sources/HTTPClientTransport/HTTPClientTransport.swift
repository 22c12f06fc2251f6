import AsyncHTTPClient
public import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
public import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// The library's transport to origins. It uses AsyncHTTPClient, and disables everything that would
/// hide something from the cache.
///
/// It does not follow redirects, decode content or store cookies. It uses HTTP/1.1, or HTTP/2 if
/// the origin offers it over TLS.
///
/// It resends a request in only one case. An origin may close a pooled connection at the moment
/// when a request is sent on it. If the connection closes before the first byte of a response, the
/// request is sent once more, on a new connection. The request must be idempotent
/// (`TransportRequest.isIdempotent`), and its content must be in memory. RFC 9110 §9.2.2
///
/// ```swift
/// let transport = HTTPClientTransport()
/// defer { … try await transport.shutDown() … }
/// ```
public final class HTTPClientTransport: Transport {
    /// Fields that belong to the connection, or that repeat the target. Only the client sets them.
    /// Otherwise, a response could be stored under a target that it does not come from. RFC 9110
    /// §7.6.1, §7.2
    fileprivate static let framing: Set<String> = [
        "connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade",
    ]

    private let client: HTTPClient
    /// Uses each connection only once, so that a repeated request never gets a pooled connection.
    /// Another pooled connection may close, too: an origin that restarts closes all of them.
    private let repeatingClient: HTTPClient
    private let loops: LeastBusyLoops
    private let connections: BusyConnections
    private let handshakes = FirstHandshakes()
    private let isShutDown = Atomic(false)
    private let logger: Logger

    /// Creates a transport with its own client, on the process's shared event loops. Call
    /// ``shutDown()`` before releasing the transport. Otherwise its connections stay open until it
    /// is deallocated.
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
        // An origin that refuses a connection is unreachable. The cache responds immediately
        // instead of waiting for the client's retries.
        settings.connectionPool.retryConnectionEstablishment = false
        // The engine creates a span for each request, so a span from the client would be a
        // duplicate.
        settings.tracing.tracer = nil
        settings.tlsConfiguration = configuration.tls?.configuration
        settings.proxy = configuration.proxy.map { HTTPClient.Configuration.Proxy($0) }
        // Network.framework, the default on macOS, does not accept these certificates.
        let loops: HTTPClient.EventLoopGroupProvider =
            configuration.tls == nil ? .singleton : .shared(MultiThreadedEventLoopGroup.singleton)
        self.client = HTTPClient(eventLoopGroupProvider: loops, configuration: settings)
        settings.maximumUsesPerConnection = 1
        self.repeatingClient = HTTPClient(eventLoopGroupProvider: loops, configuration: settings)
        self.loops = LeastBusyLoops(client.eventLoopGroup)
        self.connections = BusyConnections(limit: limit)
        self.logger = logger
    }

    /// Ends every exchange and closes every connection. A second call does nothing.
    ///
    /// - Throws: AsyncHTTPClient's error.
    public func shutDown() async throws {
        guard !isShutDown.exchange(true, ordering: .relaxed) else { return }
        // Shut down both, even if one fails.
        async let others: Void = repeatingClient.shutdown()
        try await client.shutdown()
        try await others
    }

    deinit {
        // A transport that was not shut down still closes its connections, but no caller is left to
        // receive an error.
        guard !isShutDown.load(ordering: .relaxed) else { return }
        client.shutdown { _ in }
        repeatingClient.shutdown { _ in }
    }

    /// See `Transport.send(_:)`.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        let target = try Self.target(of: request)
        let origin = target.origin
        do { try await handshakes.enter(origin) } catch { throw TransportError(error, origin: origin) }
        defer { handshakes.leave(origin) }
        do {
            return try await send(request, to: target, by: client)
        } catch {
            guard error.permitsRepeating(request) else { throw error.error }
            logger.debug("Repeating a request, because its connection closed", metadata: ["origin": "\(origin)"])
        }
        do {
            return try await send(request, to: target, by: repeatingClient)
        } catch {
            throw error.error
        }
    }

    /// Returns the target of a request, which the client must send unchanged.
    ///
    /// - Throws: `TransportError` with code `invalidRequest`.
    private static func target(of request: TransportRequest) throws -> TargetURI {
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
        return target
    }

    /// Sends a request once.
    private func send(
        _ request: TransportRequest,
        to target: TargetURI,
        by client: HTTPClient
    ) async throws(FailedAttempt) -> TransportResponse {
        let origin = target.origin
        let lease = loops.take(for: target)
        defer { loops.give(back: lease) }
        let exchange = HTTPClientExchange(on: lease.loop, to: origin, connections, handshakes)
        if connections.areAllBusy(origin) { request.onWaiting?() }
        let start: HTTPClientExchange.ResponseStart
        do {
            let outgoing = try HTTPClient.Request(request, to: target, on: lease.loop)
            start = try await exchange.send { [logger] in
                client.execute(request: outgoing, delegate: $0, eventLoop: .delegate(on: lease.loop), logger: logger)
            }
        } catch {
            let isShortage = exchange.foundNoConnection(error)
            throw FailedAttempt(
                error: isShortage ? .overloaded(origin, error) : TransportError(error, origin: origin),
                isUnanswered: exchange.isUnanswered(error)
            )
        }
        let head = HTTPResponse(start.head)
        if let content = start.content { return TransportResponse(head: head, body: BodyStream(content)) }
        // Without content, Content-Length describes the content of another response. RFC 9110 §8.6
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
            // HTTPFields splits cookies, but HTTP/1.1 has one field for them. RFC 6265 §5.4
            guard field.name != .cookie || !headers.contains(name: "cookie") else { continue }
            let value = field.name == .cookie ? request.head.headerFields[.cookie] : nil
            headers.add(name: field.name.rawName, value: value ?? field.value)
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

extension HTTPClient.Configuration.Proxy {
    fileprivate init(_ proxy: HTTPClientTransport.Proxy) {
        self = .server(
            host: proxy.host,
            port: Int(proxy.port),
            authorization: proxy.credentials.map { .basic(username: $0.user, password: $0.password) }
        )
    }
}
