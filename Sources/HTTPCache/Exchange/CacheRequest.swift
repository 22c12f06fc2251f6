public import HTTPCacheSemantics
public import HTTPTypes
public import NIOCore

/// A request to the cache.
public struct CacheRequest: Sendable {
    /// Whether the store or the network may serve a response, and in what order. The engine's
    /// ``OfflineMode`` restricts it.
    public enum Preference: Sendable, Hashable {
        /// RFC 9111: a fresh stored response is served, a stale one is validated; if the origin is
        /// unreachable, a stored response is served.
        case standard
        /// Any stored response is served immediately, however stale (unless its own directives
        /// forbid that). The network is used only on a miss.
        case storedFirst
        /// Like ``storedFirst``. If the served response is stale, the origin is asked in the
        /// background, once for all callers, so that the next caller gets a newer one.
        ///
        /// In the mode `preferStored`, and for an origin that counts as unreachable, it is the same
        /// as ``storedFirst``.
        case staleWhileRevalidate
        /// Only a stored response may be served, however stale.
        case storedOnly
        /// The origin is always asked (with the stored validators). A stored response is served if
        /// the origin is unreachable, or if the request was not sent because too many others were
        /// in progress.
        case networkFirst
        /// The origin is always asked (with the stored validators), and only its response may be
        /// served.
        case networkOnly
    }

    /// How to decide whether the response is stored, and how long it is fresh.
    public enum Storage: Sendable, Hashable {
        /// By the response's own fields. RFC 9111 §3
        case byResponse
        /// By the caller: the response is fresh until this expiry, whatever its own fields say. Its
        /// `no-store` is still honored, unless a rule lifts it.
        case expiring(Expiry)
        /// The response is not stored, and no stored response is used.
        case never
    }

    /// Method, `:scheme`, `:authority`, `:path` and fields; sent unchanged, except for validators.
    public var head: HTTPRequest {
        didSet { target = nil }
    }
    /// The target of ``head``, if already known.
    package var target: TargetURI?
    /// The content; `nil` if there is none.
    public var body: RequestBody?
    /// The principal that makes this request. A named principal keeps its stored responses when its
    /// tokens rotate. Without a name, requests with `Authorization` or `Cookie` are separated by an
    /// HMAC of these fields.
    public var principal: String?
    /// See ``Preference``.
    public var preference: Preference
    /// See ``Storage``.
    public var storage: Storage
    /// Whether the content is part of the key, so that a response to POST may be stored (QUERY is
    /// always keyed this way). RFC 9111 §2, RFC 10008
    public var keysContent: Bool
    /// Receives the origin's interim responses (1xx), if this request is the one that was sent. RFC
    /// 9110 §15.2
    public var onInformational: (@Sendable (HTTPResponse) -> Void)?
    /// No stored response may be served or validated, but the response is stored as usual. Used if
    /// a stored response turned out to be damaged.
    package var ignoresStored = false
    /// Its caller follows redirects, so a redirect is stored as the success would be that it leads
    /// to: with the caller's expiry, or for reads without the network. The engine itself follows
    /// none.
    package var followsRedirects = false
    /// The store's last invalidation when the caller began to make the request; `nil` counts from
    /// the lookup.
    ///
    /// A plugin may name the principal long before the lookup. A removal of everything of this
    /// principal in between has to keep the response out of the store.
    package var fencingNumber: InvalidationSequence?
    /// Where its exchange runs.
    package var executionContext = ExecutionContext.system
    /// The client that makes it, so that no client takes all permits for an origin.
    package var client = RequestClient.none
    /// Receives the result of the last request sent for this one; `nil` if no caller needs it.
    package var originReport: OriginReport?
    /// The ID that finds it in logs. It is sent as `X-Request-Id`, before the rules change what is
    /// sent. It is unique, so it is neither in ``head`` nor used to compare requests.
    package var requestID: String?
    /// Whether it probes for the return of an origin that counts as unreachable.
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

    /// Whether the request has any of the parts that few requests have. They are behind one
    /// reference, so that copying other requests costs nothing extra.
    var hasRareParts: Bool { boxed != nil }

    /// These parts.
    var rare: RareParts? {
        get { boxed?.parts }
        set { boxed = newValue.map(Boxed.init) }
    }
}

/// The content of a request.
public enum RequestBody: Sendable {
    /// In memory. It can be sent again, and be part of the key.
    case buffer(ByteBuffer)
    /// Sent while it is read, once. Such a request is forwarded and its response is not stored.
    case stream(BodyStream)

    var stream: BodyStream {
        switch self {
        case .buffer(let buffer): BodyStream(buffer)
        case .stream(let stream): stream
        }
    }
}
