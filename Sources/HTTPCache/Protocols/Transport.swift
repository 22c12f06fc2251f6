package import HTTPCacheSemantics
public import HTTPTypes

/// Takes requests to origin servers. The engine knows no other way out.
///
/// It does no caching, follows no redirects, decodes no content and retries nothing: one request,
/// one answer.
public protocol Transport: Sendable {
    /// Sends a request and returns when the final response's head has arrived; the body streams
    /// after it.
    ///
    /// Cancelling the calling task ends the exchange on the wire.
    /// - Throws: ``TransportError`` when no head came; the body's stream throws it when the body
    ///   broke off.
    func send(_ request: TransportRequest) async throws -> TransportResponse

    /// Whether it keeps ``TransportRequest/headTimeout`` itself; where it does not, the engine sees
    /// to it, with a task of its own for each request.
    var keepsTimeouts: Bool { get }
}

extension Transport {
    /// `false`
    public var keepsTimeouts: Bool { false }
}

/// A request on its way to an origin server.
public struct TransportRequest: Sendable {
    /// With `:scheme`, `:authority` and `:path`; the path is sent as it stands, byte for byte.
    public var head: HTTPRequest {
        didSet { target = nil }
    }
    /// What ``head`` asks for, where that is known already.
    package var target: TargetURI?
    /// `nil` where the request has no content.
    public var body: BodyStream?
    /// Takes the interim responses (1xx but 101), in order, before the final one. RFC 9110 §15.2
    ///
    /// A transport whose client does not tell of them never calls it.
    public var onInformational: (@Sendable (HTTPResponse) -> Void)?
    /// Of the request that caused this one: ``CacheRequest/context``. For wrappers around a
    /// transport; it is not sent.
    public var context: (any Sendable)?
    /// How long the head of the response may take; then `timeout` is thrown. `nil`, and with a
    /// transport that does not keep timeouts: its own limits alone.
    ///
    /// The time begins with connecting, and for a request with content when the content has been
    /// sent: see ``OriginWait``.
    public var headTimeout: Duration?
    /// To be called where the request has to wait until another one gives its connection up.
    package var onWaiting: (@Sendable () -> Void)?
    /// Its answer may be a ``RelayedResponse``, where it is one that no cache may store.
    package var mayBeRelayed = false
    /// A request; without a body unless told otherwise.
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

/// What an origin server answered.
public struct TransportResponse: Sendable {
    /// Status and fields of the final response.
    public var head: HTTPResponse
    /// The content, as it arrives.
    public var body: BodyStream
    /// Where it ends on its connection; `nil` where the transport never sees bytes behind it.
    package var boundary: MessageBoundary?
    /// An answer.
    public init(head: HTTPResponse, body: BodyStream) {
        self.head = head
        self.body = body
    }
}

/// Why there was no answer.
public struct TransportError: Error, Sendable, CustomStringConvertible {
    /// What went wrong, for programs.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name, as it appears in logs.
        public let description: String
        /// Whether the origin could not be reached: then whatever is stored may answer (DESIGN: the
        /// offline contract).
        public let isUnreachable: Bool
        /// The name does not resolve.
        public static let nameResolution = Code(description: "nameResolution", isUnreachable: true)
        /// No connection: refused, no route, reset while connecting.
        public static let connect = Code(description: "connect", isUnreachable: true)
        /// No connection came about in time.
        public static let connectTimeout = Code(description: "connectTimeout", isUnreachable: true)
        /// There was a connection, but no answer in time.
        public static let timeout = Code(description: "timeout", isUnreachable: true)
        /// The origin hung up before or while it answered.
        public static let connectionClosed = Code(description: "connectionClosed", isUnreachable: true)
        /// The TLS handshake failed. Not "unreachable" in the sense that a certificate which does
        /// not verify is an answer; it is counted as such because the origin's content cannot be
        /// had.
        public static let tls = Code(description: "tls", isUnreachable: true)
        /// This process, or the machine, has no descriptor left for a connection. It says nothing
        /// of the origin.
        public static let outOfDescriptors = Code(description: "outOfDescriptors", isUnreachable: false)
        /// Every connection to the origin was in use, and none became free in time. Nothing was
        /// sent. It says nothing of the origin.
        public static let overloaded = Code(description: "overloaded", isUnreachable: false)
        /// The origin's answer is no HTTP.
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
    /// What failed, on which origin, and what to do; no query values, no credentials.
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
