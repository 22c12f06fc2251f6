/// The reason why a stored response was invalidated. RFC 9111 §4.4
///
/// The greater cause is the more certain one; of two, a store keeps the greater.
public enum InvalidationCause: Int64, Sendable, Hashable, Comparable {
    /// A purge by an operator or by a caller's own code, a lost log of invalidations, or not known.
    ///
    /// The stored response may still match the origin's.
    case unspecified = 0
    /// A success of an unsafe method: the origin itself reported that the resource has another
    /// state now.
    case unsafeMethod = 1

    /// Compares by certainty.
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}
