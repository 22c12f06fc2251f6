public import HTTPCache
public import HTTPCacheSemantics
public import HTTPTypes

// A new setting touches several files. The recipe "A rule setting" in docs/recipes.md lists them.

/// The settings of a rule.
///
/// ```swift
/// let settings = RuleSettings {
///     $0.freshness.lifetime = .minutes(5)
///     $0.stale.unreachable = .limited(.days(7))
/// }
/// ```
///
/// Each setting is optional. If a setting is `nil`, the next matching rule that has it decides. If
/// no rule does, the engine's options and the response itself decide.
public struct RuleSettings: Sendable, Hashable {
    /// A setting that can be disabled.
    public enum Switch<Value: Sendable & Hashable>: Sendable, Hashable {
        /// The setting is disabled.
        case off
        /// The setting is enabled, with a value.
        case on(Value)
    }

    /// `freshness`: how long responses are fresh, in whole seconds. RFC 9111 §4.2
    public struct Freshness: Sendable, Hashable {
        /// `lifetime`: the lifetime of responses with a status below 400, whatever they state.
        public var lifetime: Duration?
        /// `default`: the lifetime of responses with a status below 400 that state no lifetime.
        public var `default`: Duration?
        /// `errors`: the lifetime of responses with a status of 400 or above.
        public var errors: Duration?
        /// Creates settings with no values.
        public init() {}
    }

    /// A time limit, or no limit.
    public enum Budget: Sendable, Hashable {
        /// `unlimited`: no limit.
        case unlimited
        /// A time after the response's freshness ends, in whole seconds.
        case limited(Duration)
    }

    /// `stale`: how long and when responses may be used after their freshness ends. RFC 9111
    /// §4.2.4, RFC 5861
    public struct Staleness: Sendable, Hashable {
        /// `while-revalidate`: the limit while they are revalidated in the background.
        public var whileRevalidate: Duration?
        /// `unreachable`: the limit while the origin is unreachable, and also in `preferStored`
        /// mode, in which a stored response is used as if the origin were unreachable.
        public var unreachable: Budget?
        /// `on-error`: the limit when the origin responds with 500, 502, 503 or 504.
        public var onError: Budget?
        /// `offline`: the limit in `offline` mode.
        public var offline: Budget?
        /// `ignore`: the directives that do not forbid the uses above:
        ///
        /// - `must-revalidate`, `proxy-revalidate`, `no-cache` and `s-maxage`;
        /// - `no-store`: a response with this directive is stored, but only for these uses;
        /// - `invalidated`: a response that a successful unsafe request invalidated.
        ///
        /// Each use that a directive would forbid is logged.
        public var ignore: PolicyOverrides.Directives?
        /// Creates settings with no values.
        public init() {}
    }

    /// `ignore`: the parts of a message that are ignored.
    public struct Ignoring: Sendable, Hashable {
        /// `parameters`: parameters that are sent, but are neither in the key nor in the store. A
        /// trailing `*` matches any ending.
        public var parameters: [String]?
        /// `fields`: request fields that are sent, but distinguish neither variants nor principals.
        public var fields: [HTTPField.Name]?
        /// `directives`: response directives that are ignored: `no-store`, `no-cache`, `private`,
        /// `must-revalidate`, `proxy-revalidate`, `s-maxage`.
        public var directives: PolicyOverrides.Directives?
        /// `members`: members of JSON content that are sent, but are not in the key: `user`,
        /// `metadata.trace`, `messages[*].id`. They need ``Storing/content`` `json`.
        public var members: [String]?
        /// Creates settings with no values.
        public init() {}
    }

    /// `normalize`: changes to a request before its key is computed and before it is sent.
    public struct Normalizing: Sendable, Hashable {
        /// `sort-parameters`: whether query parameters are sorted.
        public var sortsParameters: Bool?
        /// `drop-parameters`: parameters to remove. A trailing `*` matches any ending, and the word
        /// `tracking` represents ``trackingParameters``.
        public var droppedParameters: [String]?
        /// `accept-encoding`: whether equivalent `Accept-Encoding` fields are rewritten to one
        /// spelling.
        public var acceptEncoding: Bool?
        /// Creates settings with no values.
        public init() {}
    }

    /// `store`: the responses to store, and their principals.
    public struct Storing: Sendable, Hashable {
        /// `methods`: the methods whose responses are stored and served from the store.
        public var methods: [HTTPRequest.Method]?
        /// `statuses`: the statuses of responses that are stored.
        public var statuses: Set<Int>?
        /// `largest`: the maximum size of a stored body, in bytes.
        public var largest: Int64?
        /// `smallest`: the minimum size of a stored body, in bytes.
        public var smallest: Int64?
        /// `content`: `any`, `graphql` or `json`. The content of a POST request becomes part of the
        /// key, and the response may be stored.
        public var content: ExchangeSettings.KeyedContent?
        /// `events`: event streams to store, as `{largest: SIZE, ends-with: TEXT}`. A stream is
        /// stored if it ends within the size, and its last event holds the text.
        public var events: EventStreamRule?
        /// `per`: the request field or cookie that identifies the principal, as `{field: NAME}` or
        /// `{cookie: NAME}`. Each principal has separate responses.
        public var principal: ExchangeSettings.PrincipalSource?
        /// `without-cookies`: names of cookies that are left out of stored responses. A response to
        /// a request without credentials that sets only these cookies is stored without them. A
        /// trailing `*` matches any ending.
        public var withoutCookies: [String]?
        /// `pin`: whether the responses are never evicted.
        public var pin: Bool?
        /// `after-uses`: the number of requests, 1 to 100, after which the response to one is
        /// stored.
        public var afterUses: Int?
        /// The values of ``afterUses``.
        package static let usesRange = 1...100
        /// Creates settings with no values.
        public init() {}
    }

    /// `to-origin`, `to-client`: fields to set and remove.
    public struct Fields: Sendable, Hashable {
        /// `set`: names and values. A value that comes from the environment or from a file is never
        /// shown.
        public var set: [HTTPField.Name: FieldValue]?
        /// `remove`: the names of fields to remove.
        public var removed: [HTTPField.Name]?
        /// Creates settings with no values.
        public init() {}
    }

    /// `from-origin`: changes to responses before they are judged, for requests without
    /// credentials.
    public struct OriginFields: Sendable, Hashable {
        /// `remove`: fields that are neither stored nor sent to clients.
        public var removed: [HTTPField.Name]?
        /// `vary`: request fields to add to `Vary`.
        public var vary: [HTTPField.Name]?
        /// Creates settings with no values.
        public init() {}
    }

    /// `freshness`
    public var freshness = Freshness()
    /// `stale`
    public var stale = Staleness()
    /// `mode`: the offline mode. The service's mode limits it; `offline` overrides every other
    /// mode.
    public var mode: OfflineMode?
    /// `ignore`
    public var ignore = Ignoring()
    /// `normalize`
    public var normalize = Normalizing()
    /// `cookies`: the cookies that affect responses, as `{keep: [NAMES]}`. All others are removed
    /// before the request is keyed and sent. With `forward: all` they are sent, and the response is
    /// not stored.
    public var cookies: CookieRule?
    /// `vary`: values of cookies and fields that select one of several responses, as
    /// `{cookies: {NAME: [VALUES]}, fields: {NAME: [VALUES]}}`. Other values of these cookies and
    /// fields are removed.
    public var vary: ListedValues?
    /// `tags`: tags to add to the response's own cache groups.
    public var tags: [String]?
    /// `tags-from`: response fields that contain more tags. They are not sent to clients.
    public var tagsFrom: [TagField]?
    /// `store`
    public var store = Storing()
    /// `fleet`: whether responses are shared with the other nodes of a fleet. `false` also ignores
    /// the responses that other nodes share.
    public var fleet: Bool?
    /// `bypass`: whether responses are neither stored nor served from the store.
    public var bypass: Bool?
    /// `credentials`: `none`, as `true`. Requests with credentials bypass the store.
    public var withoutCredentials: Bool?
    /// `to-origin`
    public var toOrigin = Fields()
    /// `from-origin`
    public var fromOrigin = OriginFields()
    /// `to-client`
    public var toClient = Fields()
    /// `guard`: the checks that detect a wrong response. The stored response is then kept.
    public var goodDataGuard: Switch<GoodDataGuard>?
    /// `eager-refresh`: the fraction of its lifetime, from 0 to 1, after which a response is
    /// revalidated in the background.
    public var eagerRefresh: Switch<Double>?
    /// `timeouts.soft`: how long a caller waits for the origin if a stored response could be
    /// served.
    public var softTimeout: Switch<Duration>?
    /// `timeouts.hard`: the time limit for an origin to send a response's head.
    public var hardTimeout: Switch<Duration>?
    /// `breaker`: whether the origin's breaker applies.
    public var usesBreaker: Bool?

    /// Creates settings with no values.
    public init() {}

    /// Creates settings with only the values that `set` assigns.
    public init(_ set: (inout RuleSettings) throws -> Void) rethrows {
        try set(&self)
    }

    /// The word in `normalize.drop-parameters` that represents ``trackingParameters``.
    static let trackingWord = "tracking"

    /// Parameters that record how a user reached a page and do not change the page. The word
    /// `tracking` represents them in `normalize.drop-parameters`.
    public static let trackingParameters = [
        "utm_*", "fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "twclid", "ttclid",
        "igshid",
        "mc_cid", "mc_eid", "_ga", "_gl", "_hsenc", "_hsmi", "mkt_tok", "vero_id", "oly_anon_id", "oly_enc_id",
    ]
}

/// A field's value in a rule.
public enum FieldValue: Sendable, Hashable {
    /// The literal value. It is shown.
    case literal(String)
    /// The value of an environment variable. It is never shown.
    case environment(String)
    /// The content of a file, without a trailing line break. It is never shown.
    case file(String)
}
