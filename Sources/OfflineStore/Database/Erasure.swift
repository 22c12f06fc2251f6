/// Erases removed content from the write-ahead log. SQLite itself erases it from the database
/// (`secure_delete`).
extension StoreWriter {
    /// Empties the log if it may contain removed content, once no other housekeeping is due.
    ///
    /// If a reader holds the log, the log stays, and the next housekeeping tries again.
    func eraseLog(_ connection: Connection) throws {
        guard memory.wantsErasure, !memory.wantsSweep, !memory.wantsTagSweep, !memory.wantsEntrySweep,
            !memory.isEvicting,
            waiting.isEmpty
        else { return }
        memory.wantsErasure = try !checkpoint(connection, truncating: true)
    }
}
