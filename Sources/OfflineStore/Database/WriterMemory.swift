import CacheEviction
import HTTPCacheSemantics
import StoreFiles

/// The writing connection, and the writer's state between transactions.
///
/// `@unchecked Sendable`: it is only accessed while `StoreWriter.access` is held, or during
/// opening, before the writer is shared. So there are never two accesses at a time.
final class WriterMemory: @unchecked Sendable {
    /// `nil` once the writer is closed.
    var connection: Connection?
    /// The number of the last invalidation.
    var sequence: Int64
    /// Entry numbers below this one are reserved on disk.
    var reservedID: Int64
    /// Pages written to the log since the last complete checkpoint.
    var pagesSinceCheckpoint: Int64 = 0
    let writeback: LogWriteback
    /// The largest size that the folder can have reached since it was last measured; `nil` if it
    /// must be measured.
    var usageEstimate: Int64?
    /// The body after which the sweep continues.
    var sweepCursor: Int64 = 0
    var wantsSweep = true
    /// The entry after which the sweep of the first unfinished tag invalidation continues.
    var tagCursor = Int64.min
    var wantsTagSweep = true
    /// The key hash where building the key filter continues; `nil` if it is built.
    var filterCursor: Int64?
    /// The entry after which the sweep of all entries continues.
    var entryCursor = Int64.min
    /// The number of the last invalidation when that sweep began.
    var entryRound: Int64?
    var wantsEntrySweep = true
    var wantsDamageMarks = false
    /// Whether the log still contains removed content that must be erased.
    var wantsErasure = false
    var wantsVacuum = false
    var wantsCheckpoint = false
    /// The bytes of the database file that are reserved on disk.
    var reservedLength: Int64 = 0
    /// Whether the disk was full and is still low on space, so that reserved space is kept.
    var isDiskShort = false
    /// Whether entries are evicted when the disk is full; `false` after an eviction did not help.
    var evictsOnFullDisk = true
    /// Whether the size exceeded the high-water mark and has not reached the low-water mark yet.
    var isEvicting = false
    /// Decides which entries to evict.
    var eviction: StoreEviction
    /// Where the next eviction continues in the order of use; `nil` is the oldest entry.
    var evictionPlace: EvictionPlace?
    /// Whether invalidations are journaled for other nodes.
    var isInFleet: Bool
    /// The tags that exceed their quotas.
    var quotas = QuotaWork()

    /// - Parameter log: the log's path.
    init(_ row: DatabaseOpening.Row, log: String, limits: StoreLimits) {
        // A full store uses this on average.
        eviction = StoreEviction(budget: (limits.lowWater + limits.highWater) / 2)
        writeback = LogWriteback(path: log)
        sequence = row.sequence
        isInFleet = row.isInFleet
        // Numbers that were reserved and not used are lost with the process. There are plenty.
        reservedID = row.nextID
    }
}
