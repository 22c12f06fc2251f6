/// Removed content is erased in the database by SQLite (`secure_delete`), and here from the log.
extension StoreWriter {
    /// Empties the log when content was removed that may still be in it, once nothing else is to be
    /// done.
    ///
    /// While a reader holds the log it is left, and tried again with the next reason for
    /// housekeeping.
    func eraseLog(_ connection: Connection) throws {
        guard memory.wantsErasure, !memory.wantsSweep, !memory.wantsTagSweep, !memory.wantsEntrySweep,
            !memory.isEvicting,
            waiting.isEmpty
        else { return }
        memory.wantsErasure = try !checkpoint(connection, truncating: true)
    }
}
