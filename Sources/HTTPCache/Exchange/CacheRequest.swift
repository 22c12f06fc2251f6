public import HTTPCacheSemantics
public import HTTPTypes
public import NIOCore

/// A request as it is presented to the cache.
public struct CacheRequest: Sendable {
    /// Which of store and network may answer, and in what order. The engine's ``OfflineMode``
    /// bounds it.
    public enum Preference: Sendable, Hashable {
        /// RFC 9111: a fresh stored response answers, a stale one is validated; what is stored
        /// answers for an origin that cannot be reached.
        case standard
        /// Whatever is stored answers at once, however stale (unless its own directives forbid
        /// that); the network only on a miss.
        case storedFirst
        /// As ``storedFirst``, and where what answers is stale the origin is asked behind it, once
        /// for all callers: the next one has something newer.
        ///
        /// In the mode `preferStored`, and for an origin that counts as away, it is
        /// ``storedFirst``.
        case staleWhileRevalidate
        /// Only the store may answer, however stale.
        case storedOnly
        /// The origin is always asked (with the stored validators); what is stored answers when it
        /// cannot be reached, or the request was not sent because too many others were under way.
        case networkFirst
        /// The origin is always asked (with the stored validators), and only it may answer.
        case networkOnly
    }

    /// What decides whether the response is stored, and for how long it is fresh.
    public enum Storage: Sendable, Hashable {
        /// The response's own fields. RFC 9111 §3
        case byResponse
        /// The caller: the response is fresh until this expiry, in place of what its own fields
        /// say. Its `no-store` is still obeyed, unless a rule lifts it.
        case expiring(Expiry)
        /// It is not stored, and nothing stored is used.
        case never
    }

    /// Method, `:scheme`, `:authority`, `:path` and fields; sent as they stand, but for validators.
    public var head: HTTPRequest {
        didSet { target = nil }
    }
    /// What ``head`` asks for, where that is known already.
    package var target: TargetURI?
    /// The content; `nil` where there is none.
    public var body: RequestBody?
    /// Whose request this is. A named principal keeps its stored responses when its tokens rotate;
    /// without one, requests with `Authorization` or `Cookie` are told apart by an HMAC of these
    /// fields.
    public var principal: String?
    /// See ``Preference``.
    public var preference: Preference
    /// See ``Storage``.
    public var storage: Storage
    /// Whether the content is part of the key, so that a response to POST may be stored (QUERY
    /// always is keyed so). RFC 9111 §2, RFC 10008
    public var keysContent: Bool
    /// Takes the origin's interim responses (1xx), where this request is the one that was sent. RFC
    /// 9110 §15.2
    public var onInformational: (@Sendable (HTTPResponse) -> Void)?
    /// Nothing stored may answer or be validated, but the response is stored as ever: for a stored
    /// response that turned out damaged.
    package var ignoresStored = false
    /// Where its exchange runs.
    package var place = ExchangePlace.system
    /// On whose behalf it is made, so that no client takes every place at an origin.
    package var client = RequestClient.none
    /// It looks for the return of an origin that counts as away.
    package var isProbe = false
    /// What few requests have; see ``rare``.
    private var boxed: Boxed?

    /// A request with the defaults of RFC 9111.
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

    /// What few requests have, behind one reference, so that the others are copied as if it did not
    /// exist: whether there is any of it.
    var hasRareParts: Bool { boxed != nil }

    /// These.
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
