import Synchronization

/// Events since the store was opened, for its statistics.
struct StoreCounters: ~Copyable, Sendable {
    /// Heads and chunks with a wrong checksum.
    let damagedReads = Atomic<Int>(0)
    /// Databases that were lost with all their entries: set aside as damaged, or deleted.
    let lostDatabases = Atomic<Int>(0)
    /// Objects that did not decode as the requested type.
    let undecodableObjects = Atomic<Int>(0)
    /// Evicted entries, and their bytes.
    let evictedEntries = Atomic<Int>(0)
    let evictedBytes = Atomic<Int64>(0)
}
