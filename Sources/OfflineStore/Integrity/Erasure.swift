/// Erases removed content. SQLite erases it in the database (`secure_delete`); this erases it from
/// the log.
extension StoreWriter {
    /// Empties the log if it may contain removed content, once no other housekeeping is due.
    ///
    /// If a reader holds the log, it stays, and the next housekeeping tries again.
    func eraseLog(_ connection: Connection) throws {
        guard memory.wantsErasure, !memory.wantsSweep, !memory.wantsTagSweep, !memory.wantsEntrySweep,
            !memory.isEvicting,
            waiting.isEmpty
        else { return }
        memory.wantsErasure = try !checkpoint(connection, truncating: true)
    }
}
