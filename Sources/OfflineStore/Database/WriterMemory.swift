/// What the writer remembers between transactions.
///
/// `@unchecked Sendable`: every access happens on the writer connection's serial dispatch queue (in `StoreWriter.drain`, in the
/// synchronous writes of `StoreWriter.close` and of opening a database), so there are never two at a time.
final class WriterMemory: @unchecked Sendable {
    /// The next number for an entry and its body.
    var nextID: Int64
    /// Numbers below this one are set aside on disk.
    var reservedID: Int64
    /// Pages written to the log since the last complete checkpoint.
    var pagesSinceCheckpoint: Int64 = 0
    /// Where the sweep goes on.
    var sweepCursor: Int64 = 0
    var wantsSweep = true
    /// The entry after which the sweep of the first unfinished invalidation of a tag goes on.
    var tagCursor = Int64.min
    var wantsTagSweep = true
    var wantsDamageMarks = false
    /// Removed content is still in the log, and is to be there no longer.
    var wantsErasure = false
    var wantsVacuum = false
    var wantsCheckpoint = false
    /// Above the high-water mark, and not yet below the low one.
    var isEvicting = false

    init(nextID: Int64) {
        self.nextID = nextID
        self.reservedID = nextID
    }
}
