/// Numbers about a store for operators.
public struct StoreSummary: Sendable, Hashable, Codable {
    /// The number of stored responses.
    public var responses = 0
    /// The number of stored objects.
    public var objects = 0
    /// The bytes of bodies, heads and keys, and about the size of their rows.
    public var storedBytes: Int64 = 0
    /// The bytes of the database, without the free ones in it, and of its log.
    public var usedBytes: Int64 = 0
    /// The most bytes that the store may take on disk.
    public var budget: Int64 = 0
    /// The number of entries that are stale or invalidated.
    public var expired = 0
    /// Those of them that may be served while their origin is unreachable.
    public var usableStale = 0
    /// The number of entries that were invalidated and kept for offline use.
    public var invalidated = 0
    /// The number of damaged entries, which are not served.
    public var damaged = 0
    /// The number of entries that are never evicted.
    public var pinned = 0
    /// The number of entries that were evicted since the store was opened.
    public var evicted = 0
    /// About the bytes of what is in memory.
    public var residentBytes: Int64 = 0
    /// Whether the store was opened for reading alone.
    public var readOnly = false

    /// An empty store.
    public init() {}
}
