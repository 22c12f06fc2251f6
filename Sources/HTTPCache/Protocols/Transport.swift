package import HTTPCacheSemantics
public import HTTPTypes

/// Sends requests to origin servers. The engine has no other way to reach them.
///
/// It does no caching, follows no redirects, decodes no content and retries nothing: one request,
/// one response.
public protocol Transport: Sendable {
    /// Sends a request and returns when the final response's head has arrived; the body streams
    /// after it.
    ///
    /// Cancelling the calling task ends the exchange on the network.
    /// - Throws: ``TransportError`` if no head came; the body's stream throws it if the body broke
    ///   off.
    func send(_ request: TransportRequest) async throws -> TransportResponse

    /// Whether it keeps ``TransportRequest/headTimeout`` itself. If not, the engine does, with a
    /// task of its own for each request.
    var keepsTimeouts: Bool { get }

    /// Sends requests from an event loop without a task; `nil` if the transport cannot do that.
    ///
    /// An engine reads it once. Only transports of this package have it. A transport that wraps
    /// another one has none, so that no request passes it by.
    var callbacks: TransportCallbacks? { get }
}

extension Transport {
    /// `false`
    public var keepsTimeouts: Bool { false }

    /// `nil`
    public var callbacks: TransportCallbacks? { nil }
}

/// A request on its way to an origin server.
public struct TransportRequest: Sendable {
    /// With `:scheme`, `:authority` and `:path`; the path is sent as it stands, byte for byte.
    public var head: HTTPRequest {
        didSet { target = nil }
    }
    /// The target of ``head``, if it is known already.
    package var target: TargetURI?
    /// `nil` if the request has no content.
    public var body: BodyStream?
    /// Takes the interim responses (1xx except 101), in order, before the final one. RFC 9110 §15.2
    ///
    /// A transport whose client does not report them never calls it.
    public var onInformational: (@Sendable (HTTPResponse) -> Void)?
    /// The ``CacheRequest/context`` of the request that caused this one. For wrappers around a
    /// transport; it is not sent.
    public var context: (any Sendable)?
    /// How long the head of the response may take before `timeout` is thrown. With `nil`, or with a
    /// transport that keeps no timeouts, only the transport's own limits apply.
    ///
    /// The time begins with connecting; for a request with content it begins when the content has
    /// been sent. See `OriginWait`.
    public var headTimeout: Duration?
    /// Called if the request has to wait until another one releases its connection.
    package var onWaiting: (@Sendable () -> Void)?
    /// Whether the response may be a ``RelayedResponse``, if no cache may store it.
    package var mayBeRelayed = false
    /// A request, by default without a body.
    public init(
        head: HTTPRequest,
        body: BodyStream? = nil,
        onInformational: (@Sendable (HTTPResponse) -> Void)? = nil,
        context: (any Sendable)? = nil
    ) {
        self.head = head
        self.body = body
        self.onInformational = onInformational
        self.context = context
    }
}

/// The response of an origin server.
public struct TransportResponse: Sendable {
    /// Status and fields of the final response.
    public var head: HTTPResponse
    /// The content, as it arrives.
    public var body: BodyStream
    /// The end of the response on its connection; `nil` if the transport never sees bytes after it.
    package var boundary: MessageBoundary?
    /// A response of an origin.
    public init(head: HTTPResponse, body: BodyStream) {
        self.head = head
        self.body = body
    }
}

/// The reason why no response came.
public struct TransportError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure, for programs.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name, as it appears in logs.
        public let description: String
        /// Whether the origin could not be reached. Then any stored response may answer
        /// (docs/architecture.md, "The offline contract").
        public let isUnreachable: Bool
        /// The name does not resolve.
        public static let nameResolution = Code(description: "nameResolution", isUnreachable: true)
        /// No connection: refused, no route, reset while connecting.
        public static let connect = Code(description: "connect", isUnreachable: true)
        /// No connection came about in time.
        public static let connectTimeout = Code(description: "connectTimeout", isUnreachable: true)
        /// The connection was made, but no response came in time.
        public static let timeout = Code(description: "timeout", isUnreachable: true)
        /// The origin closed the connection before or during its response.
        public static let connectionClosed = Code(description: "connectionClosed", isUnreachable: true)
        /// The TLS handshake failed. A certificate that does not verify is a response of sorts; it
        /// is treated as unreachable because the origin's content cannot be had.
        public static let tls = Code(description: "tls", isUnreachable: true)
        /// This process, or the machine, has no file descriptor left for a connection. The origin
        /// is not to blame.
        public static let outOfDescriptors = Code(description: "outOfDescriptors", isUnreachable: false)
        /// Every connection to the origin was in use, and none became free in time. Nothing was
        /// sent. The origin is not to blame.
        public static let overloaded = Code(description: "overloaded", isUnreachable: false)
        /// The origin's response is not valid HTTP.
        public static let protocolViolation = Code(description: "protocolViolation", isUnreachable: false)
        /// The caller gave up.
        public static let cancelled = Code(description: "cancelled", isUnreachable: false)
        /// The request cannot be sent as it stands.
        public static let invalidRequest = Code(description: "invalidRequest", isUnreachable: false)
        /// Anything else.
        public static let other = Code(description: "other", isUnreachable: false)
    }
    /// See ``Code``.
    public var code: Code
    /// The failure, the origin and the next step. It holds no query values and no credentials.
    public var message: String
    /// The client's own error.
    public var cause: (any Error)?
    /// A failure of a transport.
    public init(code: Code, message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
    /// The message.
    public var description: String { message }
}
