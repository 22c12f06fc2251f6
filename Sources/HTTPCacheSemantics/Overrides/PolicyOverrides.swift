/// An operator's rules for responses, which take precedence over the responses' own fields.
///
/// The stored response is not changed; overrides apply whenever it is read. So a change of rules
/// applies to responses that are stored already, and leaves no trace after it is undone.
///
/// A caller's ``StoredResponseHead/explicitExpiry`` takes precedence over all of them.
public struct PolicyOverrides: Sendable, Hashable {
    /// A set of `Cache-Control` directives of responses, and of the other reason that forbids stale
    /// use.
    public struct Directives: OptionSet, Sendable, Hashable {
        /// One bit for each directive.
        public let rawValue: UInt8
        /// Makes a set from its bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// `no-store`
        public static let noStore = Directives(rawValue: 1)
        /// `no-cache`, with or without field names.
        public static let noCache = Directives(rawValue: 2)
        /// `private`, with or without field names.
        public static let `private` = Directives(rawValue: 4)
        /// `must-revalidate`
        public static let mustRevalidate = Directives(rawValue: 8)
        /// `proxy-revalidate`
        public static let proxyRevalidate = Directives(rawValue: 16)
        /// `s-maxage`
        public static let sMaxage = Directives(rawValue: 32)
        /// Not a directive: a success of an unsafe method invalidated the response. Only
        /// ``PolicyOverrides/directivesIgnoredWhenStale`` uses it. RFC 9111 §4.4
        public static let invalidated = Directives(rawValue: 64)
    }

    /// The freshness lifetime, in seconds, of responses with a status below 400, whatever their
    /// fields state. RFC 9111 §4.2.1
    public var lifetime: Int64?
    /// The freshness lifetime, in seconds, of responses with a status below 400 that state none
    /// (`max-age`, `s-maxage`, `Expires`). It replaces the heuristic. RFC 9111 §4.2.2
    public var defaultLifetime: Int64?
    /// The freshness lifetime, in seconds, of responses with a status from 400 on, whatever their
    /// fields state; ``CachePolicy/maximumErrorLifetime`` still caps it.
    public var errorLifetime: Int64?
    /// Directives that are ignored.
    public var ignoredDirectives: Directives = []
    /// Directives that do not forbid stale use while the origin is unreachable or fails:
    /// `must-revalidate`, `proxy-revalidate`, `no-cache`, `s-maxage`, `no-store`. `private` forbids
    /// it all the same. RFC 9111 §4.2.4
    ///
    /// With `no-store`, a success with that directive is stored for this use alone. It is stale
    /// from the start, whatever lifetime it states, so it is never served while the origin is
    /// reachable. The *request's* directives are obeyed.
    ///
    /// With `invalidated`, a response that a success of an unsafe method invalidated is served
    /// while the origin is unreachable, but never in place of an origin's error. §4.4
    public var directivesIgnoredWhenStale: Directives = []
    /// How long, in seconds, a stale response is served while it is renewed in the background. It
    /// replaces the response's own `stale-while-revalidate`. RFC 5861 §3
    ///
    /// It does not apply to responses with a status from 400 on; those have ``errorLifetime``.
    public var staleWhileRevalidate: Int64?
    /// How stale, in seconds, a response may be that is served in place of an origin's 5xx. It
    /// replaces the response's own `stale-if-error`. RFC 5861 §4
    public var staleIfError: Int64?
    /// How stale, in seconds, a response may be that is served because the origin is unreachable
    /// (or is asked only on a miss). `nil`: no limit.
    public var maximumStalenessUnreachable: Int64?
    /// The same limit in the mode `offline`, in which no origin is asked at all.
    public var maximumStalenessOffline: Int64?
    /// Statuses whose responses are stored.
    ///
    /// `nil`: all that RFC 9111 §3 allows, except those that a client's malformed request can
    /// provoke (400, 405, 406, 408, 411, 413, 414, 415, 422, 501, 505). Those are stored only if
    /// they are named here.
    public var statuses: Set<Int>?
    /// Request fields, in lower case, that select no variant even if `Vary` names them. Their
    /// values are not stored either.
    ///
    /// With `cookie` among them, a shared cache treats a request with a cookie like one without.
    /// `authorization` still keeps a response out of it (RFC 9111 §3.5).
    public var ignoredFields: Set<String> = []

    /// Makes overrides that change nothing.
    public init() {}

    /// Whether the overrides change nothing.
    public var isEmpty: Bool { self == PolicyOverrides() }

    /// Whether the overrides give a lifetime to a response of this status, so that no heuristic is
    /// needed.
    func statesLifetime(status code: Int) -> Bool {
        code < 400 ? lifetime != nil || defaultLifetime != nil : errorLifetime != nil
    }

    /// Whether the overrides, and not the response, decide how long a response of this status is
    /// fresh. A lifetime of 0 replaces nothing: the response is validated before each use.
    ///
    /// - Parameter isStated: whether the response states a lifetime.
    func replacesLifetime(status code: Int, isStated: Bool) -> Bool {
        let seconds = code < 400 ? lifetime ?? (isStated ? nil : defaultLifetime) : errorLifetime
        return seconds ?? 0 > 0
    }

    /// Whether a success with `no-store` is stored, to be served while the origin is unreachable.
    var keepsNoStore: Bool { directivesIgnoredWhenStale.contains(.noStore) }

    /// Whether cookies make no difference to responses.
    var ignoresCookie: Bool { ignoredFields.contains("cookie") }

    /// The limit that a staleness (in milliseconds) exceeds, by its name in a configuration file;
    /// `nil` if it exceeds none.
    ///
    /// - Parameter extended: the seconds that replace a lower limit, unless that is 0.
    func exceededBudget(staleness: Int64, isOffline: Bool, extended: Int64 = 0) -> String? {
        guard var seconds = isOffline ? maximumStalenessOffline : maximumStalenessUnreachable, staleness > 0 else {
            return nil
        }
        if seconds > 0 { seconds = max(seconds, extended) }
        guard staleness > DeltaSeconds(seconds: seconds).milliseconds else { return nil }
        return isOffline ? "stale.offline" : "stale.unreachable"
    }
}

/// Gives the overrides for a response. The policy calls it whenever it reads one.
public protocol PolicyOverriding: AnyObject, Sendable {
    /// Whether the overrides depend on the content type. If not, the policy does not look it up.
    var dependsOnContentType: Bool { get }

    /// - Parameter contentType: the response's `Content-Type` as received; `nil` if it has none.
    func overrides(forContentType contentType: String?) -> PolicyOverrides
}
