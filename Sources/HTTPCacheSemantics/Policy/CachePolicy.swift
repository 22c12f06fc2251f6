internal import HTTPTypes

/// Private or shared cache. RFC 9111 §1
public enum CacheKind: Sendable, Hashable {
    /// The cache of one user or one principal.
    case `private`
    /// The cache of many users.
    case shared
}

/// RFC 9111 as a value: requests, stored responses and `now` in, decisions out.
///
/// It reads no clock, touches no disk and never fails: a malformed field of a peer is data, and the
/// RFC defines its meaning.
///
/// ```swift
/// let policy = CachePolicy(kind: .private)
/// switch policy.reuse(of: stored, for: request, at: now).decision {
/// case .fresh, .staleAllowed: …                                        // serve it
/// case .validate: policy.validationRequest(for: stored, request: request)  // ask first
/// }
/// ```
public struct CachePolicy: Sendable {
    /// Private or shared.
    public var kind: CacheKind
    /// The share of `Date − Last-Modified` during which a response is fresh if its origin states no
    /// lifetime. RFC 9111 §4.2.2
    ///
    /// 0 switches heuristic freshness off. Other values are clamped to 0 … 1.
    public var heuristicFraction: Double
    /// The longest heuristic freshness lifetime, in seconds.
    ///
    /// The default is one day: RFC 9111 §4.2.2 leaves it to the cache; RFC 7234 §4.2.2 asked for a
    /// warning beyond a day.
    public var maximumHeuristicLifetime: Int64

    /// The longest freshness lifetime, in seconds, of an error that an attacker's malformed request
    /// can provoke: 400, 405, 413, 414, 501 and their kind.
    ///
    /// Such an error is stored only if an operator names its status (``PolicyOverrides/statuses``).
    /// The default is one minute, whatever the origin states, so that a poisoned error hides a good
    /// resource for no longer. An expiry that the caller set
    /// (``StoredResponseHead/explicitExpiry``) is not capped. 0 or less makes such an error stale
    /// at once.
    public var maximumErrorLifetime: Int64
    /// The targeted fields that this cache obeys instead of `Cache-Control` and `Expires`, the most
    /// important first, in lower case. RFC 9213 §2.2
    ///
    /// The first one that the response has, and that is not empty and well-formed, decides alone;
    /// the others and `Cache-Control` are then ignored. At most 4,096 bytes of one field are read;
    /// a longer one is treated as malformed.
    public var targetedFields: [String]
    /// Whether a shared cache stores a response with `Set-Cookie` if it has `public` or `s-maxage`.
    /// Without either it never does.
    ///
    /// The default is `false`: a cookie of one client, given to all, is a session shared by
    /// strangers. A private cache stores such responses for their principal.
    public var storesSetCookie: Bool
    /// The operator's overrides; `nil` if the responses' own fields decide alone.
    public var overriding: (any PolicyOverriding)?
    /// How stale, in seconds, every response may at least be that is served because its origin is
    /// unreachable or responds with 5xx, or because no origin is asked at all. The default is 0:
    /// the limits of responses and rules alone.
    ///
    /// It raises limits, and lowers none. It lifts no prohibition: `must-revalidate` and all others
    /// stay binding, `s-maxage` too. Nor does it raise a limit of 0 that a rule sets: that rule
    /// says *never*. RFC 9111 §4.2.4
    public var extendedStaleness: Int64 = 0
    /// Whether the scheme by which the client reached this cache selects variants, as if each
    /// `Vary` named `X-Forwarded-Proto`. A gateway sets it if it serves clients of both schemes.
    package var selectsByScheme = false

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - kind: see ``kind``.
    ///   - heuristicFraction: see ``heuristicFraction``.
    ///   - maximumHeuristicLifetime: seconds.
    ///   - maximumErrorLifetime: seconds; see ``maximumErrorLifetime``.
    ///   - storesSetCookie: see ``storesSetCookie``.
    ///   - targetedFields: names in any case; `nil` means `CDN-Cache-Control` in a shared cache and
    ///     none in a private one.
    public init(
        kind: CacheKind,
        heuristicFraction: Double = 0.1,
        maximumHeuristicLifetime: Int64 = 86_400,
        maximumErrorLifetime: Int64 = 60,
        storesSetCookie: Bool = false,
        targetedFields: [String]? = nil
    ) {
        self.kind = kind
        self.heuristicFraction = heuristicFraction
        self.maximumHeuristicLifetime = maximumHeuristicLifetime
        self.maximumErrorLifetime = maximumErrorLifetime
        self.storesSetCookie = storesSetCookie
        self.targetedFields =
            targetedFields?.map { $0.lowercased() } ?? (kind == .shared ? ["cdn-cache-control"] : [])
    }
}

extension CachePolicy {
    /// The operator's overrides for a response with these fields; `nil`, at no cost, if there are
    /// none.
    func overrides(of fields: HTTPFields) -> PolicyOverrides? {
        guard let overriding else { return nil }
        return overriding.overrides(
            forContentType: overriding.dependsOnContentType ? fields[.contentType] : nil
        )
    }

    /// The directives of the response's `Cache-Control`, or of the targeted field that replaces it,
    /// for this cache. This is the one place that reads them. RFC 9111 §5.2, RFC 9213 §2.2
    ///
    /// - Parameter whole: the fields that state the response's content type, if `fields` are only
    ///   those of a 304 or HEAD.
    func directives(of fields: HTTPFields, updating whole: HTTPFields? = nil) -> ResponseDirectives {
        var directives = ResponseDirectives(fields, targeted: targetedFields)
        if overriding != nil {
            let described = whole.flatMap { fields.contains(.contentType) ? nil : $0 } ?? fields
            if let overrides = overrides(of: described) { directives.apply(overrides) }
        }
        return directives
    }

    /// Reads the directives, as ``directives(of:updating:)`` does, and the dates and ages, in one
    /// pass.
    func read(_ stored: StoredResponseHead) -> StoredFields {
        var fields = StoredFields(stored.fields, received: stored.responseTime, targeted: targetedFields)
        if let overrides = overrides(of: stored.fields) {
            fields.directives.apply(overrides)
            fields.overrides = overrides
        }
        return fields
    }
}
