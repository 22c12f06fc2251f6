/// A summary of a store for operators.
public struct StoreSummary: Sendable, Hashable, Codable {
    /// The number of stored responses.
    public var responses = 0
    /// The number of stored objects.
    public var objects = 0
    /// The size of bodies, heads and keys, plus the approximate size of their rows, in bytes.
    public var storedBytes: Int64 = 0
    /// The size of the database without its unused space, plus the size of its write-ahead log, in
    /// bytes.
    public var usedBytes: Int64 = 0
    /// The maximum size of the store on disk, in bytes.
    public var budget: Int64 = 0
    /// The number of entries that are stale or invalidated.
    public var expired = 0
    /// The number of these entries that may be served while their origin is unreachable.
    public var usableStale = 0
    /// The number of entries that were invalidated but not removed.
    public var invalidated = 0
    /// The number of damaged entries, which are not served.
    public var damaged = 0
    /// The number of entries that are exempt from eviction.
    public var pinned = 0
    /// The number of entries that were evicted since the store was opened.
    public var evicted = 0
    /// The approximate size of the data in memory, in bytes.
    public var residentBytes: Int64 = 0
    /// Whether the store was opened read-only.
    public var readOnly = false

    /// Creates the summary of an empty store.
    public init() {}
}
