package import HTTPCacheSemantics
public import HTTPTypes

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
    /// Whether sending the request twice has the same effect as sending it once. Then a transport
    /// may send it again, once, if its connection closed before any byte of a response. By default
    /// the method decides. RFC 9110 §9.2.2
    public var isIdempotent: Bool {
        get { statedIdempotence ?? head.method.isIdempotent }
        set { statedIdempotence = newValue }
    }
    private var statedIdempotence: Bool?
    /// Called if the request has to wait until another one releases its connection.
    package var onWaiting: (@Sendable () -> Void)?
    /// Where a transport notes how the origin responded; `nil` if no caller wants that.
    package var originReport: OriginReport?
    /// Whether it probes for the return of an origin that counts as unreachable.
    package var isProbe = false
    /// The wish to speak another protocol; `nil`: none. A transport that cannot switch ignores it.
    package var upgrade: UpgradeOffer?
    /// Whether the response may be a ``RelayedResponse``, if no cache may store it.
    package var mayBeRelayed = false
    /// Whether it has credentials, or a rule named its principal.
    package var hasCredentials = false
    /// The fields that rules set. Their values may be secrets, and are meant for the origin alone.
    package var ruleFields: HTTPFields = [:]
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
