public import HTTPCacheSemantics
public import HTTPTypes
public import NIOCore

/// A request as it is presented to the cache.
public struct CacheRequest: Sendable {
    /// Which of store and network may serve a response, and in what order. The engine's
    /// ``OfflineMode`` bounds it.
    public enum Preference: Sendable, Hashable {
        /// RFC 9111: a fresh stored response is served, a stale one is validated; if the origin is
        /// unreachable, a stored response is served.
        case standard
        /// Any stored response is served at once, however stale (unless its own directives forbid
        /// that); the network is used only on a miss.
        case storedFirst
        /// As ``storedFirst``. If the served response is stale, the origin is asked in the
        /// background, once for all callers, so that the next caller is served a newer one.
        ///
        /// In the mode `preferStored`, and for an origin that counts as unreachable, it is
        /// ``storedFirst``.
        case staleWhileRevalidate
        /// Only a stored response may be served, however stale.
        case storedOnly
        /// The origin is always asked (with the stored validators). A stored response is served
        /// when the origin is unreachable, or when the request was not sent because too many others
        /// were under way.
        case networkFirst
        /// The origin is always asked (with the stored validators), and only its response may be
        /// served.
        case networkOnly
    }

    /// How it is decided whether the response is stored, and for how long it is fresh.
    public enum Storage: Sendable, Hashable {
        /// By the response's own fields. RFC 9111 §3
        case byResponse
        /// By the caller: the response is fresh until this expiry, whatever its own fields say. Its
        /// `no-store` is still obeyed, unless a rule lifts it.
        case expiring(Expiry)
        /// It is not stored, and no stored response is used.
        case never
    }

    /// Method, `:scheme`, `:authority`, `:path` and fields; sent unchanged, except for validators.
    public var head: HTTPRequest {
        didSet { target = nil }
    }
    /// The target of ``head``, if it is known already.
    package var target: TargetURI?
    /// The content; `nil` if there is none.
    public var body: RequestBody?
    /// The principal that makes this request. A named principal keeps its stored responses when its
    /// tokens rotate. Without a name, requests with `Authorization` or `Cookie` are told apart by
    /// an HMAC of these fields.
    public var principal: String?
    /// See ``Preference``.
    public var preference: Preference
    /// See ``Storage``.
    public var storage: Storage
    /// Whether the content is part of the key, so that a response to POST may be stored (QUERY is
    /// always keyed so). RFC 9111 §2, RFC 10008
    public var keysContent: Bool
    /// Receives the origin's interim responses (1xx), if this request is the one that was sent. RFC
    /// 9110 §15.2
    public var onInformational: (@Sendable (HTTPResponse) -> Void)?
    /// No stored response may be served or validated, but the response is stored as usual: used if
    /// a stored response turned out to be damaged.
    package var ignoresStored = false
    /// Where its exchange runs.
    package var executionContext = ExecutionContext.system
    /// The client that makes it, so that no client takes every permit for an origin.
    package var client = RequestClient.none
    /// Gets what the last request that was sent for this one came to; `nil` if no caller wants it.
    package var originReport: OriginReport?
    /// The ID by which it is found in logs. It is sent as `X-Request-Id`, before the rules change
    /// what is sent. No other request has it, so it is neither in ``head`` nor a part of what tells
    /// requests apart.
    package var requestID: String?
    /// It probes for the return of an origin that counts as unreachable.
    package var isProbe = false
    /// Parts that few requests have; see ``rare``.
    private var boxed: Boxed?

    /// Creates a request with the defaults of RFC 9111.
    public init(
        head: HTTPRequest,
        body: RequestBody? = nil,
        principal: String? = nil,
        preference: Preference = .standard,
        storage: Storage = .byResponse,
        keysContent: Bool = false
    ) {
        self.head = head
        self.body = body
        self.principal = principal
        self.preference = preference
        self.storage = storage
        self.keysContent = keysContent
    }

    private final class Boxed: Sendable {
        let parts: RareParts
        init(_ parts: RareParts) { self.parts = parts }
    }

    /// Whether the request has any of the parts that few requests have. They stand behind one
    /// reference, so that copying other requests costs nothing more.
    var hasRareParts: Bool { boxed != nil }

    /// These parts.
    var rare: RareParts? {
        get { boxed?.parts }
        set { boxed = newValue.map(Boxed.init) }
    }
}

/// The content of a request.
public enum RequestBody: Sendable {
    /// In memory: it can be sent again, and be part of the key.
    case buffer(ByteBuffer)
    /// Sent as it is read, once. Such a request is forwarded and its response is not stored.
    case stream(BodyStream)

    var stream: BodyStream {
        switch self {
        case .buffer(let buffer): BodyStream(buffer)
        case .stream(let stream): stream
        }
    }
}
