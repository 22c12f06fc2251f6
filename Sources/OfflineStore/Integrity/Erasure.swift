/// Removed content is erased in the database by SQLite (`secure_delete`), and here from the log.
extension StoreWriter {
    /// Empties the log if it may hold removed content, once no other housekeeping is due.
    ///
    /// While a reader holds the log, it stays; this is tried again with the next housekeeping.
    func eraseLog(_ connection: Connection) throws {
        guard memory.wantsErasure, !memory.wantsSweep, !memory.wantsTagSweep, !memory.wantsEntrySweep,
            !memory.isEvicting,
            waiting.isEmpty
        else { return }
        memory.wantsErasure = try !checkpoint(connection, truncating: true)
    }
}
