internal import HTTPTypes

/// Whether the cache is private or shared. RFC 9111 §1
public enum CacheKind: Sendable, Hashable {
    /// A cache for one user or one principal.
    case `private`
    /// A cache for many users.
    case shared
}

/// RFC 9111 as a value: it maps requests, stored responses and `now` to decisions.
///
/// It does not read a clock or access the disk, and never fails: a malformed field from a peer is
/// data, and the RFC defines its meaning.
///
/// ```swift
/// let policy = CachePolicy(kind: .private)
/// switch policy.reuse(of: stored, for: request, at: now).decision {
/// case .fresh, .staleAllowed: …                                        // serve it
/// case .validate: policy.validationRequest(for: stored, request: request)  // ask first
/// }
/// ```
public struct CachePolicy: Sendable {
    /// Whether the cache is private or shared.
    public var kind: CacheKind
    /// The fraction of `Date − Last-Modified` for which a response is fresh if its origin states no
    /// lifetime. RFC 9111 §4.2.2
    ///
    /// 0 disables heuristic freshness. Other values are clamped to the range 0 to 1.
    public var heuristicFraction: Double
    /// The maximum heuristic freshness lifetime, in seconds.
    ///
    /// The default is one day. RFC 9111 §4.2.2 leaves the choice to the cache. RFC 7234 §4.2.2
    /// recommended a warning on such a response if it was more than a day old.
    public var maximumHeuristicLifetime: Int64

    /// The maximum freshness lifetime, in seconds, of an error that an attacker's malformed request
    /// can provoke: 400, 405, 413, 414, 501 and similar statuses.
    ///
    /// Such an error is stored only if an operator lists its status (``PolicyOverrides/statuses``).
    /// The default is one minute, whatever the origin states, so a poisoned error hides a good
    /// resource for at most a minute. An expiry that the caller set
    /// (``StoredResponseHead/explicitExpiry``) is not capped. 0 or less makes such an error stale
    /// immediately.
    public var maximumErrorLifetime: Int64
    /// The lower-case names of targeted fields that this cache obeys instead of `Cache-Control` and
    /// `Expires`, in order of precedence. RFC 9213 §2.2
    ///
    /// The first of these fields that is present, not empty and not malformed applies. The other
    /// targeted fields and `Cache-Control` are then ignored. A field of more than 4,096 bytes
    /// counts as malformed.
    public var targetedFields: [String]
    /// Whether a shared cache stores a response with `Set-Cookie` if it has `public` or `s-maxage`.
    /// Without either directive, it never does.
    ///
    /// The default is `false`, because one client's cookie sent to all clients is a session shared
    /// by strangers. A private cache stores such responses for their principal.
    public var storesSetCookie: Bool
    /// The operator's overrides; `nil` if only the responses' own fields decide.
    public var overriding: (any PolicyOverriding)?
    /// The minimum staleness limit, in seconds, for every response that is served because its
    /// origin is unreachable, responds with 5xx or is not contacted at all. The default is 0: only
    /// the limits of responses and rules apply.
    ///
    /// It raises limits and never lowers them. It overrides no prohibition: `must-revalidate`,
    /// `s-maxage` and all others stay in effect. It does not raise a limit of 0 set by a rule,
    /// because that rule means *never*. RFC 9111 §4.2.4
    package var extendedStaleness: Int64 = 0
    /// Whether the scheme that the client used to reach this cache selects variants, as if every
    /// `Vary` listed `X-Forwarded-Proto`. A gateway sets it if it serves clients over both schemes.
    package var selectsByScheme = false
    /// Whether values that an operator lists select variants: see
    /// ``HTTPTypes/HTTPField/Name/listedCookies``.
    package var selectsByListedValues = false
    /// Whether fields that carry credentials, such as `Set-Cookie`, are left out of stored
    /// responses. The client whose request was sent still gets them.
    package var leavesOutCredentials = false

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - kind: see ``kind``.
    ///   - heuristicFraction: see ``heuristicFraction``.
    ///   - maximumHeuristicLifetime: seconds.
    ///   - maximumErrorLifetime: seconds; see ``maximumErrorLifetime``.
    ///   - storesSetCookie: see ``storesSetCookie``.
    ///   - targetedFields: names in any case; `nil` means `CDN-Cache-Control` in a shared cache and
    ///     none in a private cache.
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
    /// Returns the operator's overrides for a response with these fields, or `nil`, at no cost, if
    /// there are none.
    func overrides(of fields: HTTPFields) -> PolicyOverrides? {
        guard let overriding else { return nil }
        return overriding.overrides(
            forContentType: overriding.dependsOnContentType ? fields[.contentType] : nil
        )
    }

    /// Returns the directives of the response's `Cache-Control`, or of the targeted field that
    /// replaces it, for this cache. Only this function reads them. RFC 9111 §5.2, RFC 9213 §2.2
    ///
    /// - Parameter whole: the fields that contain the response's content type, if `fields` are only
    ///   those of a 304 or HEAD.
    func directives(of fields: HTTPFields, updating whole: HTTPFields? = nil) -> ResponseDirectives {
        var directives = ResponseDirectives(fields, targeted: targetedFields)
        if overriding != nil {
            let described = whole.flatMap { fields.contains(.contentType) ? nil : $0 } ?? fields
            if let overrides = overrides(of: described) { directives.apply(overrides) }
        }
        return directives
    }

    /// Reads the directives like ``directives(of:updating:)``, together with dates and ages, in one
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
