import CSQLite
import CacheEviction
import StoreFiles
import StoreMemory

/// One transaction at a time, and the pages it writes.
extension StoreWriter {
    /// Runs a transaction, and counts the pages it writes.
    func transaction(_ connection: Connection, isDurable: Bool = false, _ body: () throws -> Void) throws {
        if isDurable { try connection.run("PRAGMA synchronous = FULL") }
        defer {
            if isDurable { try? connection.run("PRAGMA synchronous = NORMAL") }
        }
        try connection.transaction {
            try body()
            try reserveFile(connection)
        }
        // First, so that a caller that learns of the commit does not read an older snapshot.
        database.commits.advance()
        let pages = writtenPages(connection)
        memory.pagesSinceCheckpoint += pages
        memory.writeback.note(pages * StoreLimits.pageSize)
        // The file grew by at most this.
        memory.usageEstimate? += pages * StoreLimits.pageSize
    }

    /// Writes the recorded order of use to the disk.
    func flushRecency(_ connection: Connection) throws {
        let instant = database.latestInstant
        while case let used = database.recency.takeSome(), !used.isEmpty {
            do {
                try transaction(connection) {
                    for (id, uses) in used {
                        guard let stamp = try stamp(of: id, connection) else { continue }
                        try connection.run(
                            "UPDATE entry SET recency = ?2, last_used_at = max(last_used_at, ?3) WHERE id = ?1",
                            id,
                            stamp.used(uses).stored,
                            instant
                        )
                    }
                }
            } catch {
                database.recency.putBack(used)
                throw error
            }
        }
    }

    /// Returns the stamp of an entry with its size, which an earlier program did not write.
    private func stamp(of id: Int64, _ connection: Connection) throws -> UseStamp? {
        let statement = try connection.prepare("SELECT recency, size FROM entry WHERE id = ?1 AND is_damaged = 0")
        defer { statement.reset() }
        statement.bind(1, id)
        guard try statement.step() else { return nil }
        return UseStamp(stored: statement.integer(0)).sized(statement.integer(1))
    }

    func reportIfDamage(_ error: any Error) {
        if (error as? SQLiteFailure)?.isDamage == true || (error as? StoreError)?.code == .damaged {
            events.damaged(self, error)
        }
    }

    func writtenPages(_ connection: Connection) -> Int64 {
        var current: Int32 = 0
        var highest: Int32 = 0
        guard let pointer = connection.pointer,
            sqlite3_db_status(pointer, SQLITE_DBSTATUS_CACHE_WRITE, &current, &highest, 1) == SQLITE_OK
        else { return 0 }
        return Int64(current)
    }
}
