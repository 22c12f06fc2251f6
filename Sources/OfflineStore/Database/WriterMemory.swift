import HTTPCacheSemantics

/// The writing connection and what the writer remembers between transactions.
///
/// `@unchecked Sendable`: every access happens while `StoreWriter.access` is held (or before the
/// writer is shared, at opening), so there are never two at a time.
final class WriterMemory: @unchecked Sendable {
    /// `nil` once the writer is closed.
    var connection: Connection?
    /// The number of the last invalidation.
    var sequence: Int64
    /// Numbers of entries below this one are set aside on disk.
    var reservedID: Int64
    /// Pages written to the log since the last complete checkpoint.
    var pagesSinceCheckpoint: Int64 = 0
    let writeback: LogWriteback
    /// What the folder may have come to since it was last measured; `nil` when it has to be
    /// measured.
    var usageEstimate: Int64?
    /// Where the sweep goes on.
    var sweepCursor: Int64 = 0
    var wantsSweep = true
    /// The entry after which the sweep of the first unfinished invalidation of a tag goes on.
    var tagCursor = Int64.min
    var wantsTagSweep = true
    /// The hash after which building the filter of keys goes on; `nil` when it is built.
    var filterCursor: Int64?
    /// The entry after which the sweep of all entries goes on.
    var entryCursor = Int64.min
    /// The number of the last invalidation when that sweep was at its beginning.
    var entryRound: Int64?
    var wantsEntrySweep = true
    var wantsDamageMarks = false
    /// Removed content is still in the log, and is to be there no longer.
    var wantsErasure = false
    var wantsVacuum = false
    var wantsCheckpoint = false
    /// Bytes of the database's file that are known to be on the disk.
    var reservedLength: Int64 = 0
    /// The disk was full, and has little room still: what was taken of it is kept.
    var isDiskShort = false
    /// Whether what is stored gives way when the disk is full; not after that was in vain.
    var yieldsToFullDisk = true
    /// Above the high-water mark, and not yet below the low one.
    var isEvicting = false
    /// Tags that come to more than their quotas.
    var quotas = QuotaWork()

    /// - Parameter log: the log's path.
    init(_ row: DatabaseOpening.Row, log: String) {
        writeback = LogWriteback(path: log)
        sequence = row.sequence
        // What was set aside and not used is lost with the process: numbers are many.
        reservedID = row.nextID
    }
}
