/// Private or shared cache. RFC 9111 §1
public enum CacheKind: Sendable, Hashable {
    /// One user's, or one principal's.
    case `private`
    /// Many users'.
    case shared
}

/// RFC 9111 as a value: requests, stored responses and `now` in, decisions out.
///
/// It reads no clock, touches no disk and never fails: a malformed field of a peer is data, and the RFC says what it means.
///
/// ```swift
/// let policy = CachePolicy(kind: .private)
/// switch policy.reuse(of: stored, for: request, at: now).decision {
/// case .fresh, .staleAllowed: …                                        // serve it
/// case .validate: policy.validationRequest(for: stored, request: request)  // ask first
/// }
/// ```
public struct CachePolicy: Sendable, Hashable {
    /// Private or shared.
    public var kind: CacheKind
    /// The share of `Date − Last-Modified` that counts as fresh where the origin says nothing. RFC 9111 §4.2.2
    ///
    /// 0 switches heuristic freshness off; what is no number from 0 to 1 counts as the nearest that is.
    public var heuristicFraction: Double
    /// The longest heuristic freshness lifetime, in seconds.
    ///
    /// One day unless told otherwise: RFC 9111 §4.2.2 leaves it to the cache, RFC 7234 §4.2.2 asked for a warning beyond a day.
    public var maximumHeuristicLifetime: Int64

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - heuristicFraction: see ``heuristicFraction``.
    ///   - maximumHeuristicLifetime: seconds.
    public init(kind: CacheKind, heuristicFraction: Double = 0.1, maximumHeuristicLifetime: Int64 = 86_400) {
        self.kind = kind
        self.heuristicFraction = heuristicFraction
        self.maximumHeuristicLifetime = maximumHeuristicLifetime
    }
}
