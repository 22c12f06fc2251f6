internal import HTTPTypes

/// Private or shared cache. RFC 9111 §1
public enum CacheKind: Sendable, Hashable {
    /// One user's, or one principal's.
    case `private`
    /// Many users'.
    case shared
}

/// RFC 9111 as a value: requests, stored responses and `now` in, decisions out.
///
/// It reads no clock, touches no disk and never fails: a malformed field of a peer is data, and the
/// RFC says what it means.
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
    /// The share of `Date − Last-Modified` that counts as fresh where the origin says nothing. RFC
    /// 9111 §4.2.2
    ///
    /// 0 switches heuristic freshness off; what is no number from 0 to 1 counts as the nearest that
    /// is.
    public var heuristicFraction: Double
    /// The longest heuristic freshness lifetime, in seconds.
    ///
    /// One day unless told otherwise: RFC 9111 §4.2.2 leaves it to the cache, RFC 7234 §4.2.2 asked
    /// for a warning beyond a day.
    public var maximumHeuristicLifetime: Int64

    /// The longest freshness lifetime, in seconds, of an error that an attacker's malformed request
    /// can provoke: 400, 405, 413, 414, 501 and their kind.
    ///
    /// Stored at all only where an operator names their status (``PolicyOverrides/statuses``). One
    /// minute unless told otherwise, whatever the origin says: a poisoned error then hides a good
    /// resource for no longer. An expiry that the caller set
    /// (``StoredResponseHead/explicitExpiry``) is not capped. 0 or less makes such an error stale
    /// at once.
    public var maximumErrorLifetime: Int64
    /// The targeted fields that this cache obeys instead of `Cache-Control` and `Expires`, the most
    /// important first, in lower case. RFC 9213 §2.2
    ///
    /// The first that a response has, that is not empty and well-formed, alone decides; the others
    /// of the list and `Cache-Control` then say nothing. At most 4,096 bytes of one field are read;
    /// a longer one counts as malformed.
    public var targetedFields: [String]
    /// Whether a shared cache stores a response with `Set-Cookie` where it says `public` or has
    /// `s-maxage`; without either it never does.
    ///
    /// `false` unless told otherwise: a cookie that one client was given, given to all, is a
    /// session shared by strangers. A private cache stores them for their principal.
    public var storesSetCookie: Bool
    /// What an operator says in place of responses' own fields; `nil` where they alone count.
    public var overriding: (any PolicyOverriding)?

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
    /// What an operator says about a response with these fields; `nil`, at no cost, where nobody
    /// says anything.
    func overrides(of fields: HTTPFields) -> PolicyOverrides? {
        guard let overriding else { return nil }
        return overriding.overrides(
            forContentType: overriding.dependsOnContentType ? fields[.contentType] : nil
        )
    }

    /// What the response's `Cache-Control`, or the targeted field in its place, says to this cache:
    /// the one place where it is read. RFC 9111 §5.2, RFC 9213 §2.2
    ///
    /// - Parameter whole: the fields that tell what kind of response it is, where these are only
    ///   what a 304 or HEAD brought.
    func directives(of fields: HTTPFields, updating whole: HTTPFields? = nil) -> ResponseDirectives {
        var directives = ResponseDirectives(fields, targeted: targetedFields)
        if overriding != nil {
            let described = whole.flatMap { fields.contains(.contentType) ? nil : $0 } ?? fields
            if let overrides = overrides(of: described) { directives.apply(overrides) }
        }
        return directives
    }

    /// ``directives(of:updating:)`` and the dates and ages beside it, in one pass.
    func read(_ stored: StoredResponseHead) -> StoredFields {
        var fields = StoredFields(stored.fields, received: stored.responseTime, targeted: targetedFields)
        if let overrides = overrides(of: stored.fields) {
            fields.directives.apply(overrides)
            fields.overrides = overrides
        }
        return fields
    }
}
