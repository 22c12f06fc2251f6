/// What an operator says about responses in place of their own fields.
///
/// The stored response stays as it came; overrides count whenever it is looked at. So a change of
/// rules counts for what is stored already, and leaves no trace when it is taken back.
///
/// A caller's ``StoredResponseHead/explicitExpiry`` goes before all of them.
public struct PolicyOverrides: Sendable, Hashable {
    /// `Cache-Control` directives of responses, and what else forbids stale use, as a set.
    public struct Directives: OptionSet, Sendable, Hashable {
        /// One bit each.
        public let rawValue: UInt8
        /// From bits.
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
        /// No directive: a success of an unsafe method invalidated it. Only
        /// ``PolicyOverrides/staleDespite`` knows it. RFC 9111 §4.4
        public static let invalidated = Directives(rawValue: 64)
    }

    /// The freshness lifetime of responses below 400, in seconds, whatever they say themselves. RFC
    /// 9111 §4.2.1
    public var lifetime: Int64?
    /// The freshness lifetime, in seconds, of responses below 400 that state none (`max-age`,
    /// `s-maxage`, `Expires`), in place of the heuristic. RFC 9111 §4.2.2
    public var defaultLifetime: Int64?
    /// The freshness lifetime of responses from 400 on, in seconds, whatever they say themselves;
    /// ``CachePolicy/maximumErrorLifetime`` still caps it.
    public var errorLifetime: Int64?
    /// Directives that count as not given.
    public var ignoredDirectives: Directives = []
    /// Directives that do not forbid stale use when the origin cannot be reached or fails:
    /// `must-revalidate`, `proxy-revalidate`, `no-cache`, `s-maxage`, `no-store`; `private` forbids
    /// it all the same. RFC 9111 §4.2.4
    ///
    /// With `no-store`, a success that says so is stored for that use alone. It is stale from the
    /// beginning, whatever lifetime it states, so it never answers while the origin can be asked.
    /// What the *request* says is obeyed.
    ///
    /// With `invalidated`, what a success of an unsafe method invalidated answers when the origin
    /// cannot be reached; it never does for an origin's error. §4.4
    public var staleDespite: Directives = []
    /// How long after its freshness a response is served while it is renewed in the background, in
    /// seconds, in place of its own `stale-while-revalidate`. RFC 5861 §3
    ///
    /// Responses from 400 on are not served so: what is to be said of them is ``errorLifetime``.
    public var staleWhileRevalidate: Int64?
    /// How stale a response may be that answers for an origin's 5xx, in seconds, in place of its
    /// own `stale-if-error`. RFC 5861 §4
    public var staleIfError: Int64?
    /// How stale a response may be that answers because the origin cannot be reached (or is asked
    /// only on a miss), in seconds. `nil`: without limit.
    public var maximumStaleness: Int64?
    /// The same where the mode is `offline`: no origin is asked at all.
    public var maximumStalenessOffline: Int64?
    /// Statuses whose responses are stored; `nil`: all that RFC 9111 §3 lets be stored, but those
    /// that a client's malformed request can provoke (400, 405, 406, 408, 411, 413, 414, 415, 422,
    /// 501, 505). Those are stored only where they are named here.
    public var statuses: Set<Int>?
    /// Request fields that select no variant, in lower case, though `Vary` names them; their values
    /// are not stored either. With `cookie` among them, a shared cache answers requests that have
    /// one as it does others; `authorization` still keeps a response out of it (RFC 9111 §3.5).
    public var ignoredFields: Set<String> = []

    /// None.
    public init() {}

    /// Whether they change nothing.
    public var isEmpty: Bool { self == PolicyOverrides() }

    /// Whether a response of this status has a lifetime by these, so that nothing needs to be
    /// guessed.
    func statesLifetime(status code: Int) -> Bool {
        code < 400 ? lifetime != nil || defaultLifetime != nil : errorLifetime != nil
    }

    /// A success that says `no-store` is stored, for when the origin cannot be reached.
    var keepsNoStore: Bool { staleDespite.contains(.noStore) }

    /// Cookies make no difference to answers.
    var ignoresCookie: Bool { ignoredFields.contains("cookie") }

    /// Which limit of staleness forbids a response that is this stale (in milliseconds), by its
    /// name in a file; `nil` where none does.
    func exceededBudget(staleness: Int64, isOffline: Bool) -> String? {
        guard let seconds = isOffline ? maximumStalenessOffline : maximumStaleness, staleness > 0,
            staleness > DeltaSeconds(seconds: seconds).milliseconds
        else { return nil }
        return isOffline ? "stale.offline" : "stale.normal"
    }
}

/// Tells which overrides hold for a response; the policy asks it whenever it reads one.
public protocol PolicyOverriding: AnyObject, Sendable {
    /// Whether the content type makes a difference; where it makes none, nobody looks for it.
    var dependsOnContentType: Bool { get }

    /// - Parameter contentType: the response's `Content-Type` as it came; `nil` where it has none.
    func overrides(forContentType contentType: String?) -> PolicyOverrides
}
