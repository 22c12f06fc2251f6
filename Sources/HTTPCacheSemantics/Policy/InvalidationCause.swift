/// The cause of a stored response's invalidation. RFC 9111 §4.4
///
/// The greater cause is the more certain one; if there are two causes, a store keeps the greater.
public enum InvalidationCause: Int64, Sendable, Hashable, Comparable {
    /// A purge by an operator or by a caller's own code, a lost invalidation log, or an unknown
    /// cause.
    ///
    /// The stored response may still match the origin's response.
    case unspecified = 0
    /// A successful unsafe request: the origin itself reported that the resource has changed.
    case unsafeMethod = 1

    /// Compares causes by certainty.
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}
