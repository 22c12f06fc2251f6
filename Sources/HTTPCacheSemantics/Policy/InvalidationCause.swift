/// Why a stored response was invalidated. RFC 9111 §4.4
///
/// The greater cause is the one that says more: of two, a store keeps it.
public enum InvalidationCause: Int64, Sendable, Hashable, Comparable {
    /// A purge by an operator or by a caller's own code, a lost log of invalidations, or not known.
    ///
    /// What is stored may still be what the origin has.
    case unspecified = 0
    /// A success of an unsafe method: the origin itself said that what is stored is another state
    /// of the resource.
    case unsafeMethod = 1

    /// By how much they say.
    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}
