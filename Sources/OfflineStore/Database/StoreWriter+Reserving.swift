import CSQLite
import StoreFiles

/// Reserves disk space before it is needed.
///
/// Content committed to the log can then always be copied into the database, and the log can be
/// rewritten from its beginning within its space. So eviction works even on a full disk.
extension StoreWriter {
    /// The step by which the database's file grows, in bytes.
    private static let growth = 8 * StoreLimits.pageSize

    /// The bytes that an emptied log keeps on disk: enough to remove some entries.
    private var keptLog: Int64 { min(database.limits.checkpoint, 512 << 10) }

    /// Reserves the space that a transaction's pages need in the database file, before the commit.
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
        // If the file system cannot reserve space, its free space decides.
        let missing = length - ((try? FileStatus(path: path))?.size ?? 0)
        if let free = FileSystemStatus(path: path)?.free, free < missing {
            throw SQLiteFailure(
                code: SQLITE_FULL,
                message: "there is no room for \(missing) more bytes in the database"
            )
        }
        memory.reservedLength = length
    }

    /// Reserves space for the log.
    ///
    /// The added bytes are zeros, which SQLite reads as the end of the log. This is only a hint: if
    /// it works, a full disk is noticed earlier.
    ///
    /// - Parameter length: the bytes to reserve; by default, the bytes that an empty log keeps.
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
