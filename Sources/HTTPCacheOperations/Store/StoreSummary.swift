import HTTPCache

/// A summary of a store for operators.
package struct StoreSummary: Sendable, Hashable, Codable {
    /// The number of stored responses.
    package var responses = 0
    /// The number of stored objects.
    package var objects = 0
    /// The size of bodies, heads and keys, plus the approximate size of their rows, in bytes.
    package var storedBytes: Int64 = 0
    /// The size of the database without its unused space, plus the size of its write-ahead log, in
    /// bytes.
    package var usedBytes: Int64 = 0
    /// The maximum size of the store on disk, in bytes.
    package var budget: Int64 = 0
    /// The number of entries that are stale or invalidated.
    package var expired = 0
    /// The number of these entries that may be served while their origin is unreachable.
    package var usableStale = 0
    /// The number of entries that were invalidated but not removed.
    package var invalidated = 0
    /// The number of damaged entries, which are not served.
    package var damaged = 0
    /// The number of entries that are exempt from eviction.
    package var pinned = 0
    /// The number of entries that were evicted since the store was opened.
    package var evicted = 0
    /// The approximate size of the data in memory, in bytes.
    package var residentBytes: Int64 = 0
    /// Whether the store was opened read-only.
    package var readOnly = false

    /// Creates the summary of an empty store.
    package init() {}
}
