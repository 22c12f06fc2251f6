import GRDBSQLite

/// Room on the disk that is taken before it is needed.
///
/// What was committed to the log can then always be copied into the database, and the log can be
/// written anew from its beginning, on the room that it has: so a full disk stops no eviction.
extension StoreWriter {
    /// Bytes that the database's file becomes longer by at a time.
    private static let growth = 8 * StoreLimits.pageSize

    /// Bytes of the log that stay on the disk when it is emptied: as many as removing some entries
    /// takes.
    private var keptLog: Int64 { min(database.limits.checkpoint, 512 << 10) }

    /// Takes the room that the pages of a transaction need in the database's file, before its
    /// commit.
    ///
    /// - Throws: ``SQLiteFailure`` with `SQLITE_FULL`.
    func reserveFile(_ connection: Connection) throws {
        let length = (try connection.integer("PRAGMA page_count") ?? 0) * StoreLimits.pageSize
        guard length > memory.reservedLength, let pointer = connection.pointer else { return }
        for rounded in [(length + Self.growth - 1) / Self.growth * Self.growth, length] {
            var hint = rounded
            guard sqlite3_file_control(pointer, "main", SQLITE_FCNTL_SIZE_HINT, &hint) == SQLITE_OK else { continue }
            memory.reservedLength = rounded
            return
        }
        // Not every file system can reserve: what it tells of its room decides.
        let missing = length - ((try? FileStatus(path: path))?.size ?? 0)
        if let free = FileSystemStatus(path: path)?.free, free < missing {
            throw SQLiteFailure(
                code: SQLITE_FULL,
                message: "there is no room for \(missing) more bytes of the database"
            )
        }
        memory.reservedLength = length
    }

    /// Takes room for the log.
    ///
    /// What is added holds zeros, which SQLite reads as the end of the log. A hint: without it a
    /// full disk is only full sooner.
    ///
    /// - Parameter length: bytes; what is kept of an empty log unless told otherwise.
    func reserveLog(_ connection: Connection, _ length: Int64? = nil) {
        guard let pointer = connection.pointer else { return }
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(pointer, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) == SQLITE_OK, let file,
            let control = file.pointee.pMethods?.pointee.xFileControl
        else { return }
        var step = Int32(StoreLimits.pageSize)
        var hint = length ?? keptLog
        guard control(file, SQLITE_FCNTL_CHUNK_SIZE, &step) == SQLITE_OK else { return }
        _ = control(file, SQLITE_FCNTL_SIZE_HINT, &hint)
    }
}
