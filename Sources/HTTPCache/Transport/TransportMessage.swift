package import HTTPCacheSemantics
public import HTTPTypes

/// A request to an origin server.
public struct TransportRequest: Sendable {
    /// The head, with `:scheme`, `:authority` and `:path`. The path is sent unchanged, byte for
    /// byte.
    public var head: HTTPRequest {
        didSet { target = nil }
    }
    /// The target of ``head``, if it is already known.
    package var target: TargetURI?
    /// The content; `nil` if the request has none.
    public var body: BodyStream?
    /// Receives the interim responses (1xx except 101), in order, before the final response. RFC
    /// 9110 §15.2
    ///
    /// A transport never calls it if the underlying client does not report interim responses.
    public var onInformational: (@Sendable (HTTPResponse) -> Void)?
    /// The ``CacheRequest/context`` of the request that caused this request. It is for wrappers
    /// around a transport and is not sent.
    public var context: (any Sendable)?
    /// The time limit for the response's head, after which `timeout` is thrown. If it is `nil`, or
    /// if a transport does not support timeouts, only the transport's own limits apply.
    ///
    /// The time starts with connecting, or, for a request with content, when the content has been
    /// sent. See `OriginWait`.
    public var headTimeout: Duration?
    /// Whether sending the request twice has the same effect as sending it once. If so, a transport
    /// may send it once more if the connection closes before the first byte of a response. By
    /// default, the method decides. RFC 9110 §9.2.2
    public var isIdempotent: Bool {
        get { statedIdempotence ?? head.method.isIdempotent }
        set { statedIdempotence = newValue }
    }
    private var statedIdempotence: Bool?
    /// Called if the request must wait until another request releases its connection.
    package var onWaiting: (@Sendable () -> Void)?
    /// Receives the transport's facts about the origin's response; `nil` if no caller needs them.
    package var originReport: OriginReport?
    /// Whether the request is a probe that checks whether an unreachable origin is reachable again.
    package var isProbe = false
    /// The offer to switch to another protocol; `nil` if there is none. A transport that cannot
    /// switch ignores it.
    package var upgrade: UpgradeOffer?
    /// Whether the response may be a ``RelayedResponse``, if no cache may store it.
    package var mayBeRelayed = false
    /// Whether the request has credentials, or a rule identified its principal.
    package var hasCredentials = false
    /// The fields that rules set. Their values may be secrets, and are only for the origin.
    package var ruleFields: HTTPFields = [:]
    /// Creates a request; by default, without a body.
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
    /// The status and fields of the final response.
    public var head: HTTPResponse
    /// The content, which arrives as a stream.
    public var body: BodyStream
    /// The end of the response on its connection; `nil` if the transport never sees bytes after it.
    package var boundary: MessageBoundary?
    /// Creates a response from an origin.
    public init(head: HTTPResponse, body: BodyStream) {
        self.head = head
        self.body = body
    }
}
