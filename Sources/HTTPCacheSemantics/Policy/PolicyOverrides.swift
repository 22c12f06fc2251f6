/// An operator's rules for responses, which take precedence over the responses' own fields.
///
/// The stored response is not changed; overrides apply whenever it is read. A rule change therefore
/// also applies to responses that are already stored, and undoing it leaves no trace.
///
/// A caller's ``StoredResponseHead/explicitExpiry`` takes precedence over all overrides.
public struct PolicyOverrides: Sendable, Hashable {
    /// A set of response directives in `Cache-Control`. It can also contain ``invalidated``, the
    /// other reason that forbids stale use.
    public struct Directives: OptionSet, Sendable, Hashable {
        /// One bit per directive.
        public let rawValue: UInt8
        /// Creates a set from its bits.
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
        /// Not a directive: a successful unsafe request invalidated the response. Only
        /// ``PolicyOverrides/directivesIgnoredWhenStale`` uses it. RFC 9111 §4.4
        public static let invalidated = Directives(rawValue: 64)
    }

    /// The freshness lifetime, in seconds, of responses with a status below 400, whatever their
    /// fields state. RFC 9111 §4.2.1
    public var lifetime: Int64?
    /// The freshness lifetime, in seconds, of responses with a status below 400 that state no
    /// lifetime (`max-age`, `s-maxage`, `Expires`). It replaces the heuristic. RFC 9111 §4.2.2
    public var defaultLifetime: Int64?
    /// The freshness lifetime, in seconds, of responses with a status of 400 or above, whatever
    /// their fields state. ``CachePolicy/maximumErrorLifetime`` still caps it.
    public var errorLifetime: Int64?
    /// The directives to ignore.
    public var ignoredDirectives: Directives = []
    /// The directives that do not forbid stale use while the origin is unreachable, fails or must
    /// not be contacted: `must-revalidate`, `proxy-revalidate`, `no-cache`, `s-maxage`, `no-store`.
    /// In a shared cache, `private` always forbids it. RFC 9111 §4.2.4
    ///
    /// With `no-store`, a successful response with that directive is stored for this use only. It
    /// is stale from the start, whatever lifetime it states, so it is never served without
    /// validation while the origin works. The *request's* directives still apply.
    ///
    /// With `invalidated`, a response that a successful unsafe request invalidated is served while
    /// the origin is unreachable or must not be contacted, but never in place of an origin's error.
    /// §4.4
    public var directivesIgnoredWhenStale: Directives = []
    /// How long, in seconds, a stale response is served while it is revalidated in the background.
    /// It replaces the response's own `stale-while-revalidate`. RFC 5861 §3
    ///
    /// It does not apply to responses with a status of 400 or above; ``errorLifetime`` applies to
    /// them.
    public var staleWhileRevalidate: Int64?
    /// The maximum staleness, in seconds, of a response served in place of an origin's 5xx. It
    /// replaces the response's own `stale-if-error`. RFC 5861 §4
    public var staleIfError: Int64?
    /// The maximum staleness, in seconds, of a response served because the origin is unreachable,
    /// or because requests are sent to the origin only on a miss. `nil` sets no limit.
    public var maximumStalenessUnreachable: Int64?
    /// The maximum staleness, in seconds, in `offline` mode, in which no origin is contacted. `nil`
    /// sets no limit.
    public var maximumStalenessOffline: Int64?
    /// The statuses whose responses are stored.
    ///
    /// `nil` allows every status that RFC 9111 §3 allows, except those that a client's malformed
    /// request can provoke (400, 405, 406, 408, 411, 413, 414, 415, 422, 501, 505). Those are
    /// stored only if listed here.
    public var statuses: Set<Int>?
    /// The lower-case names of request fields that never select a variant, even if `Vary` lists
    /// them. Their values are not stored either.
    ///
    /// If `cookie` is listed, a shared cache treats a request with a cookie like a request without
    /// one. `authorization` still keeps a response out of a shared cache (RFC 9111 §3.5).
    public var ignoredFields: Set<String> = []
    /// The cookies that affect responses, as an operator states; `nil` leaves that to the origin.
    /// The request then has no other cookies.
    ///
    /// A response to a request with a `Cookie` is not shared, even if it is `public`, unless its
    /// `Vary` lists `Cookie`. Then it is shared among requests with the same cookies. Likewise, a
    /// shared cache validates any other response before it is used for such a request.
    public var keptCookies: CookieNames?
    /// The cookies that are left out of stored responses. A response to a request without
    /// credentials that sets only these cookies is stored as if it set none. RFC 9111 §7.3
    ///
    /// A cookie that ``keptCookies`` also names is not left out.
    public var withoutCookies: CookieNames?

    /// Creates overrides without effect.
    public init() {}

    /// Whether the overrides have no effect.
    public var isEmpty: Bool { self == PolicyOverrides() }

    /// Returns whether the overrides give a lifetime to a response with this status, so that no
    /// heuristic is needed.
    func statesLifetime(status code: Int) -> Bool {
        code < 400 ? lifetime != nil || defaultLifetime != nil : errorLifetime != nil
    }

    /// Returns whether the overrides, not the response, decide how long a response with this status
    /// is fresh. A lifetime of 0 does not count, because the response is validated before each use.
    ///
    /// - Parameter isStated: whether the response states a lifetime.
    func replacesLifetime(status code: Int, isStated: Bool) -> Bool {
        let seconds = code < 400 ? lifetime ?? (isStated ? nil : defaultLifetime) : errorLifetime
        return seconds ?? 0 > 0
    }

    /// Whether a successful response with `no-store` is stored for use without the origin.
    var keepsNoStore: Bool { directivesIgnoredWhenStale.contains(.noStore) }

    /// Whether cookies do not affect responses.
    var ignoresCookie: Bool { ignoredFields.contains("cookie") }

    /// Returns the configuration name of the limit that a staleness (in milliseconds) exceeds, or
    /// `nil` if it exceeds none.
    ///
    /// - Parameter extended: the seconds that replace a lower limit, unless that limit is 0.
    func exceededBudget(staleness: Int64, isOffline: Bool, extended: Int64 = 0) -> String? {
        guard var seconds = isOffline ? maximumStalenessOffline : maximumStalenessUnreachable, staleness > 0 else {
            return nil
        }
        if seconds > 0 { seconds = max(seconds, extended) }
        guard staleness > DeltaSeconds(seconds: seconds).milliseconds else { return nil }
        return isOffline ? "stale.offline" : "stale.unreachable"
    }
}

/// Provides the overrides for a response. The policy calls it whenever it reads a response.
public protocol PolicyOverriding: AnyObject, Sendable {
    /// Whether the overrides depend on the content type. If not, the policy does not look up the
    /// content type.
    var dependsOnContentType: Bool { get }

    /// - Parameter contentType: the response's `Content-Type` as received; `nil` if it has none.
    func overrides(forContentType contentType: String?) -> PolicyOverrides
}

extension ResponseDirectives {
    /// Removes the directives that the operator ignores, and replaces the response's durations with
    /// the operator's.
    mutating func apply(_ overrides: PolicyOverrides) {
        let ignored = overrides.ignoredDirectives
        if !ignored.isEmpty {
            let received = self
            if ignored.contains(.noStore) { noStore = false }
            if ignored.contains(.noCache) { noCache = .absent }
            if ignored.contains(.private) { isPrivate = .absent }
            if ignored.contains(.mustRevalidate) { mustRevalidate = false }
            if ignored.contains(.proxyRevalidate) { proxyRevalidate = false }
            if ignored.contains(.sMaxage) { sMaxage = nil }
            isLoosened = self != received
        }
        if let seconds = overrides.staleWhileRevalidate { staleWhileRevalidate = DeltaSeconds(seconds: seconds) }
        if let seconds = overrides.staleIfError { staleIfError = DeltaSeconds(seconds: seconds) }
    }
}

extension PolicyOverrides {
    /// Returns whether a response to a request with a `Cookie` is only for that request, even if it
    /// is `public`: a rule says that the cookies affect responses, and `Vary` does not list them.
    func bindsToCookies(_ vary: FieldNameList) -> Bool {
        keptCookies != nil && !vary.names.contains("cookie")
    }
}
