public import HTTPCacheSemantics
public import HTTPTypes
public import NIOCore

/// A request to the cache.
public struct CacheRequest: Sendable {
    /// Whether the store or the network may serve a response, and in what order. The engine's
    /// ``OfflineMode`` restricts it.
    public enum Preference: Sendable, Hashable {
        /// A fresh stored response is served, and a stale stored response is validated (RFC 9111).
        /// If the origin is unreachable, a stored response is served, unless something forbids
        /// using it without validation.
        case standard
        /// Any stored response is served immediately, however stale, unless a directive, a limit or
        /// an invalidation forbids that. The network is used only if no stored response may be
        /// served.
        case storedFirst
        /// Like ``storedFirst``, but if the served response is stale, it is validated in the
        /// background, once for all callers, so that the next caller gets a newer response.
        ///
        /// In `preferStored` mode, and for an origin that counts as unreachable, this is the same
        /// as ``storedFirst``.
        case staleWhileRevalidate
        /// Only a stored response may be served, however stale, unless a directive, a limit or an
        /// invalidation forbids that.
        case storedOnly
        /// The request is always sent to the origin (with the stored validators). A stored response
        /// may be served if the origin is unreachable, or if the request was not sent because too
        /// many others were in progress.
        case networkFirst
        /// The request is always sent to the origin (with the stored validators), and only the
        /// origin's response may be served.
        case networkOnly
    }

    /// How to decide whether the response is stored, and how long it is fresh.
    public enum Storage: Sendable, Hashable {
        /// The response's own fields decide. RFC 9111 §3
        case byResponse
        /// The caller decides: the response is fresh until this expiry, whatever its own fields
        /// say. Its `no-store` is still honored, unless a rule overrides it.
        case expiring(Expiry)
        /// The response is not stored, and no stored response is used.
        case never
    }

    /// The method, `:scheme`, `:authority`, `:path` and fields. The head is sent unchanged, except
    /// for validators.
    public var head: HTTPRequest {
        didSet { target = nil }
    }
    /// The target of ``head``, if already known.
    package var target: TargetURI?
    /// The content; `nil` if there is none.
    public var body: RequestBody?
    /// The name of the principal that makes this request. A named principal keeps its stored
    /// responses when its tokens rotate. Without a name, requests with `Authorization` or `Cookie`
    /// are separated by an HMAC of these fields.
    public var principal: String?
    /// See ``Preference``.
    public var preference: Preference
    /// See ``Storage``.
    public var storage: Storage
    /// Whether the content is part of the key, so that a response to POST may be stored (QUERY is
    /// always keyed this way). RFC 9111 §2, RFC 10008
    public var keysContent: Bool
    /// Receives the origin's interim responses (1xx), unless this request joins another caller's
    /// fetch. RFC 9110 §15.2
    public var onInformational: (@Sendable (HTTPResponse) -> Void)?
    /// Whether to ignore stored responses: none may be served or validated, but the new response is
    /// stored as usual. Used if a stored response turned out to be damaged.
    package var ignoresStored = false
    /// Whether the caller follows redirects. If so, a redirect is stored like the success that it
    /// leads to: with the caller's expiry, or for reads without the network. The engine itself does
    /// not follow redirects.
    package var followsRedirects = false
    /// The number of the store's last invalidation when the caller began to prepare the request;
    /// `nil` uses the number at the lookup.
    ///
    /// A plugin may name the principal long before the lookup. If everything stored for the
    /// principal is removed in between, this number keeps the response out of the store.
    package var fencingNumber: InvalidationSequence?
    /// Where the request's exchange runs.
    package var executionContext = ExecutionContext.system
    /// The client that makes the request. Used so that no client takes all of an origin's permits.
    package var client = RequestClient.none
    /// Receives the result of the last request sent to the origin for this request; `nil` if the
    /// caller does not need it.
    package var originReport: OriginReport?
    /// The ID that identifies the request in logs. It is added to the sent request as
    /// `X-Request-Id` before rules are applied. It is unique, so it is neither in ``head`` nor used
    /// to compare requests.
    package var requestID: String?
    /// Whether the caller decodes `gzip` if ``CacheResponse/isToBeDecoded`` says so. If the origin
    /// cannot be asked, it then gets a stored response in a coding that only other requests accept.
    package var decodesGzip = false
    /// Whether the request is a probe of an origin that counts as unreachable.
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

    /// Whether the request has any of the parts that few requests have. The parts are behind one
    /// reference, so that they do not slow down copying of other requests.
    var hasRareParts: Bool { boxed != nil }

    /// The parts that few requests have; `nil` if the request has none.
    var rare: RareParts? {
        get { boxed?.parts }
        set { boxed = newValue.map(Boxed.init) }
    }
}

/// The content of a request.
public enum RequestBody: Sendable {
    /// Content in memory. It can be sent again, and can be part of the key.
    case buffer(ByteBuffer)
    /// Content that is sent while it is read, once. The request is forwarded, and its response is
    /// not stored.
    case stream(BodyStream)

    var stream: BodyStream {
        switch self {
        case .buffer(let buffer): BodyStream(buffer)
        case .stream(let stream): stream
        }
    }
}
