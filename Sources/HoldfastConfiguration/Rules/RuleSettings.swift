public import HTTPCache
public import HTTPCacheSemantics
public import HTTPTypes

// A new setting touches several files: the comment at `Setting` lists them in order.

/// The settings of a rule.
///
/// ```swift
/// let settings = RuleSettings {
///     $0.freshness.lifetime = .minutes(5)
///     $0.stale.unreachable = .limited(.days(7))
/// }
/// ```
///
/// Each setting is optional. If it is `nil`, the next matching rule decides it, and at last the
/// engine's options and the response itself.
public struct RuleSettings: Sendable, Hashable {
    /// A setting that can be switched off.
    public enum Switch<Value: Sendable & Hashable>: Sendable, Hashable {
        /// Off.
        case off
        /// On, with a value.
        case on(Value)
    }

    /// `freshness`: how long responses are fresh. Whole seconds. RFC 9111 §4.2
    public struct Freshness: Sendable, Hashable {
        /// `lifetime`: of responses with a status below 400, whatever they state.
        public var lifetime: Duration?
        /// `default`: of responses with a status below 400 that state no lifetime.
        public var `default`: Duration?
        /// `errors`: of responses with a status of 400 or more.
        public var errors: Duration?
        /// Sets nothing.
        public init() {}
    }

    /// A limit of time, or no limit.
    public enum Budget: Sendable, Hashable {
        /// `unlimited`
        case unlimited
        /// At most this long after the end of freshness. Whole seconds.
        case limited(Duration)
    }

    /// `stale`: how long responses may be used after the end of their freshness, and when. RFC 9111
    /// §4.2.4, RFC 5861
    public struct Staleness: Sendable, Hashable {
        /// `while-revalidate`: while they are revalidated in the background.
        public var whileRevalidate: Duration?
        /// `unreachable`: when the origin is unreachable, and where a stored response is used as if
        /// it were: in the mode `preferStored`.
        public var unreachable: Budget?
        /// `on-error`: when the origin responds with 500, 502, 503 or 504.
        public var onError: Budget?
        /// `offline`: in the mode `offline`.
        public var offline: Budget?
        /// `ignore`: directives that do not forbid the uses above: `must-revalidate`,
        /// `proxy-revalidate`, `no-cache`, `s-maxage`; `no-store`: such a response is then stored
        /// for these uses only; and `invalidated`: a response that an unsafe method's success
        /// invalidated. Each use that a directive forbids is logged.
        public var ignore: PolicyOverrides.Directives?
        /// Sets nothing.
        public init() {}
    }

    /// `ignore`: parts of a message that are ignored.
    public struct Ignoring: Sendable, Hashable {
        /// `parameters`: they are sent, but are neither in the key nor in the store. A trailing `*`
        /// stands for any ending.
        public var parameters: [String]?
        /// `fields`: request fields that are sent, but distinguish neither variants nor principals.
        public var fields: [HTTPField.Name]?
        /// `directives`: response directives that are ignored: `no-store`, `no-cache`, `private`,
        /// `must-revalidate`, `proxy-revalidate`, `s-maxage`.
        public var directives: PolicyOverrides.Directives?
        /// Sets nothing.
        public init() {}
    }

    /// `normalize`: changes to a request before its key is computed and it is sent.
    public struct Normalizing: Sendable, Hashable {
        /// `sort-parameters`
        public var sortsParameters: Bool?
        /// `drop-parameters`: a trailing `*` stands for any ending, the word `tracking` for
        /// ``trackingParameters``.
        public var droppedParameters: [String]?
        /// `accept-encoding`: all requests that mean the same are written in one way.
        public var acceptEncoding: Bool?
        /// Sets nothing.
        public init() {}
    }

    /// `store`: which responses are stored, and for which principal.
    public struct Storing: Sendable, Hashable {
        /// `methods`: the methods whose responses are stored and served from the store.
        public var methods: [HTTPRequest.Method]?
        /// `statuses`: the statuses of responses that are stored.
        public var statuses: Set<Int>?
        /// `largest`: the largest body that is stored, in bytes.
        public var largest: Int64?
        /// `smallest`: the smallest body that is stored, in bytes.
        public var smallest: Int64?
        /// `content`: `any` or `graphql`: a POST's content is part of its key, and its response may
        /// be stored.
        public var content: ExchangeSettings.KeyedContent?
        /// `per`: `{field: NAME}` or `{cookie: NAME}`: each principal has responses of its own.
        public var principal: ExchangeSettings.PrincipalSource?
        /// `pin`: the responses are never evicted.
        public var pin: Bool?
        /// Sets nothing.
        public init() {}
    }

    /// `to-origin`, `to-client`: fields that are set and removed.
    public struct Fields: Sendable, Hashable {
        /// `set`: names and values. A value can come from the environment or from a file, and is
        /// then never shown.
        public var set: [HTTPField.Name: FieldValue]?
        /// `remove`
        public var removed: [HTTPField.Name]?
        /// Sets nothing.
        public init() {}
    }

    /// `freshness`
    public var freshness = Freshness()
    /// `stale`
    public var stale = Staleness()
    /// `mode`: the service's mode limits it; `offline` overrides every other mode.
    public var mode: OfflineMode?
    /// `ignore`
    public var ignore = Ignoring()
    /// `normalize`
    public var normalize = Normalizing()
    /// `tags`: added to the response's own cache groups.
    public var tags: [String]?
    /// `tags-from`: fields of responses that name more tags. Clients do not get them.
    public var tagsFrom: [TagField]?
    /// `store`
    public var store = Storing()
    /// `fleet`: `false` keeps responses from the other nodes of a fleet, and theirs from here.
    public var fleet: Bool?
    /// `bypass`: responses are neither stored nor served from the store.
    public var bypass: Bool?
    /// `to-origin`
    public var toOrigin = Fields()
    /// `to-client`
    public var toClient = Fields()
    /// `guard`: keeps a stored response if the new one looks wrong.
    public var goodDataGuard: Switch<GoodDataGuard>?
    /// `eager-refresh`: the share of its lifetime, 0 to 1, after which a response is revalidated in
    /// the background.
    public var eagerRefresh: Switch<Double>?
    /// `timeouts.soft`: how long a caller waits for the origin if a stored response could be
    /// served.
    public var softTimeout: Switch<Duration>?
    /// `timeouts.hard`: how long an origin may take to send a response's head.
    public var hardTimeout: Switch<Duration>?
    /// `breaker`: `on` or `off`.
    public var usesBreaker: Bool?

    /// Sets nothing.
    public init() {}

    /// Only the settings that `set` assigns.
    public init(_ set: (inout RuleSettings) throws -> Void) rethrows {
        try set(&self)
    }

    /// The word in `normalize.drop-parameters` that stands for ``trackingParameters``.
    static let trackingWord = "tracking"

    /// Parameters that state how a user came to a page and do not change it. The word `tracking`
    /// stands for them in `normalize.drop-parameters`.
    public static let trackingParameters = [
        "utm_*", "fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "twclid", "ttclid",
        "igshid",
        "mc_cid", "mc_eid", "_ga", "_gl", "_hsenc", "_hsmi", "mkt_tok", "vero_id", "oly_anon_id", "oly_enc_id",
    ]
}

/// A field's value in a rule.
public enum FieldValue: Sendable, Hashable {
    /// The text itself. It is shown.
    case literal(String)
    /// The value of an environment variable. It is never shown.
    case environment(String)
    /// The content of a file, without the line break at its end. It is never shown.
    case file(String)
}
