public import HTTPCache
public import HTTPCacheSemantics
public import HTTPTypes

/// The settings of a rule.
///
/// ```swift
/// let settings = RuleSettings {
///     $0.freshness.lifetime = .minutes(5)
///     $0.stale.normal = .limited(.days(7))
/// }
/// ```
///
/// Each setting is optional: where it is `nil`, the next rule that matches decides it, and at last
/// the engine's options and the response itself.
public struct RuleSettings: Sendable, Hashable {
    /// A setting that can be switched off.
    public enum Switch<Value: Sendable & Hashable>: Sendable, Hashable {
        /// Off.
        case off
        /// On, like this.
        case on(Value)
    }

    /// `freshness`: how long responses are fresh. Whole seconds. RFC 9111 §4.2
    public struct Freshness: Sendable, Hashable {
        /// `lifetime`: of responses below 400, whatever they say.
        public var lifetime: Duration?
        /// `default`: of responses below 400 that say nothing.
        public var `default`: Duration?
        /// `errors`: of responses from 400 on.
        public var errors: Duration?
        /// None.
        public init() {}
    }

    /// A limit of time, or none.
    public enum Budget: Sendable, Hashable {
        /// `unlimited`
        case unlimited
        /// No more than this after the end of freshness. Whole seconds.
        case limited(Duration)
    }

    /// `stale`: how long after their freshness responses are used, and what for. RFC 9111 §4.2.4,
    /// RFC 5861
    public struct Staleness: Sendable, Hashable {
        /// `while-revalidate`: served while they are renewed in the background.
        public var whileRevalidate: Duration?
        /// `normal`: when the origin cannot be reached, and in the mode `preferStored`.
        public var normal: Budget?
        /// `on-error`: when the origin answers 500, 502, 503 or 504.
        public var onError: Budget?
        /// `offline`: in the mode `offline`.
        public var offline: Budget?
        /// `despite`: directives that do not forbid the above: `must-revalidate`,
        /// `proxy-revalidate`, `no-cache`, `s-maxage`; `no-store`, which is then stored for that
        /// use alone; and `invalidated`, which is what a success of an unsafe method invalidated.
        /// Logged when it counts.
        public var despite: PolicyOverrides.Directives?
        /// None.
        public init() {}
    }

    /// `ignore`: what makes no difference.
    public struct Ignoring: Sendable, Hashable {
        /// `parameters`: sent, not keyed, not in the store. A trailing `*` stands for any ending.
        public var parameters: [String]?
        /// `fields`: request fields that are sent, and tell neither variants nor principals apart.
        public var fields: [HTTPField.Name]?
        /// `directives`: of responses: `no-store`, `no-cache`, `private`, `must-revalidate`,
        /// `proxy-revalidate`, `s-maxage`.
        public var directives: PolicyOverrides.Directives?
        /// None.
        public init() {}
    }

    /// `normalize`: what is changed before a request is keyed and sent.
    public struct Normalizing: Sendable, Hashable {
        /// `sort-parameters`
        public var sortsParameters: Bool?
        /// `drop-parameters`: a trailing `*` stands for any ending; the word `tracking` for
        /// ``trackingParameters``.
        public var droppedParameters: [String]?
        /// `accept-encoding`: one spelling for all requests that mean the same.
        public var acceptEncoding: Bool?
        /// None.
        public init() {}
    }

    /// `store`: what is stored, and for whom.
    public struct Storing: Sendable, Hashable {
        /// `methods`: whose answers are stored and given from the store.
        public var methods: [HTTPRequest.Method]?
        /// `statuses`: which are stored.
        public var statuses: Set<Int>?
        /// `largest`: bytes of a body.
        public var largest: Int64?
        /// `smallest`: bytes of a body.
        public var smallest: Int64?
        /// `content`: `any` or `graphql`: a POST's content is part of its key, and its answer may
        /// be stored.
        public var content: ExchangeSettings.KeyedContent?
        /// `per`: `{field: NAME}` or `{cookie: NAME}`: each principal's apart.
        public var principal: ExchangeSettings.PrincipalSource?
        /// `pin`: never evicted.
        public var pin: Bool?
        /// None.
        public init() {}
    }

    /// `to-origin`, `to-client`: fields that are set and removed.
    public struct Fields: Sendable, Hashable {
        /// `set`: name and value; values can come from the environment or a file, and are never
        /// shown then.
        public var set: [HTTPField.Name: FieldValue]?
        /// `remove`
        public var removed: [HTTPField.Name]?
        /// None.
        public init() {}
    }

    /// `freshness`
    public var freshness = Freshness()
    /// `stale`
    public var stale = Staleness()
    /// `mode`: bounded by the one in force: `offline` beats everything.
    public var mode: OfflineMode?
    /// `ignore`
    public var ignore = Ignoring()
    /// `normalize`
    public var normalize = Normalizing()
    /// `tags`: beside the response's own cache groups.
    public var tags: [String]?
    /// `store`
    public var store = Storing()
    /// `bypass`: neither stored nor answered from the store.
    public var bypass: Bool?
    /// `to-origin`
    public var toOrigin = Fields()
    /// `to-client`
    public var toClient = Fields()
    /// `guard`: keeps good stored data from what looks wrong.
    public var goodDataGuard: Switch<GoodDataGuard>?
    /// `eager-refresh`: the share of its lifetime, 0 to 1, after which a response is renewed in the
    /// background.
    public var eagerRefresh: Switch<Double>?
    /// `timeouts.soft`: how long a caller waits while a stored response could answer.
    public var softTimeout: Switch<Duration>?
    /// `timeouts.hard`: how long an origin may take to send a response's head.
    public var hardTimeout: Switch<Duration>?
    /// `breaker`: `on` or `off`.
    public var usesBreaker: Bool?

    /// None.
    public init() {}

    /// None but those that `set` gives a value.
    public init(_ set: (inout RuleSettings) throws -> Void) rethrows {
        try set(&self)
    }

    /// The word in `normalize.drop-parameters` that stands for ``trackingParameters``.
    static let trackingWord = "tracking"

    /// Parameters that tell how somebody came to a page and change nothing about it: what the word
    /// `tracking` stands for in `normalize.drop-parameters`.
    public static let trackingParameters = [
        "utm_*", "fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "twclid", "ttclid",
        "igshid",
        "mc_cid", "mc_eid", "_ga", "_gl", "_hsenc", "_hsmi", "mkt_tok", "vero_id", "oly_anon_id", "oly_enc_id",
    ]
}

/// A field's value in a rule.
public enum FieldValue: Sendable, Hashable {
    /// As it stands in the file, and shown.
    case literal(String)
    /// Of an environment variable; never shown.
    case environment(String)
    /// The content of a file, without the line break at its end; never shown.
    case file(String)
}
