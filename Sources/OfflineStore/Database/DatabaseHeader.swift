import CSQLite
import HoldfastMigrations
import LibC
import StoreFiles

/// The kind of a file, read from its first hundred bytes without SQLite's pager.
///
/// Opening a file through SQLite can change it (by rolling back a journal, or starting a
/// write-ahead log). So the store first finds out which program the file belongs to.
package enum DatabaseHeader: Equatable {
    /// A Holdfast database of this schema version.
    case ours(version: Int32)
    /// A SQLite database of another program.
    case foreign
    /// Not a SQLite database.
    case unreadable
    /// No file.
    case missing

    package init(path: String) throws {
        guard let status = try FileStatus(path: path) else {
            self = .missing
            return
        }
        guard status.size >= Self.length, let bytes = try Self.read(path) else {
            self = .unreadable
            return
        }
        guard bytes.starts(with: Array("SQLite format 3\0".utf8)) else {
            self = .unreadable
            return
        }
        let applicationID = Self.integer(in: bytes, at: 68)
        self = applicationID == Migrations.applicationID ? .ours(version: Self.integer(in: bytes, at: 60)) : .foreign
    }

    /// - Throws: ``StoreError`` with `newerSchema`.
    package static func checkVersion(_ version: Int32, path: String) throws {
        guard version > Migrations.latestVersion else { return }
        throw StoreError(
            code: .newerSchema,
            message: "The database '\(path)' has schema version \(version); this program supports versions up to "
                + "\(Migrations.latestVersion). Install the newer version again, restore a backup from before the "
                + "upgrade, or use another folder. Nothing was changed."
        )
    }

    private static let length: Int64 = 100

    /// Reads through SQLite's own file, without its pager. This takes no lock, and ignores rollback
    /// journals and write-ahead logs.
    ///
    /// A separate file descriptor would not work. Under POSIX, closing a descriptor releases every
    /// lock that this process holds on the file, including the locks of a store that is open here.
    /// Another program would then consider itself the last user, and remove the write-ahead log.
    /// SQLite keeps a descriptor open while this process holds locks.
    /// - Returns: `nil` if the header cannot be read.
    private static func read(_ path: String) throws -> [UInt8]? {
        // If the file cannot be read, `errno` still has the cause here. SQLite would replace it.
        guard access(path, R_OK) == 0 else { throw SystemFailure("open", path) }
        // If this fails (because of too few descriptors, for example), nothing is known about the
        // file.
        let connection = try Connection.open(path, SQLITE_OPEN_READONLY)
        defer { sqlite3_close_v2(connection) }
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
            let read = file.pointee.pMethods?.pointee.xRead
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(length))
        switch read(file, &bytes, Int32(length), 0) {
        case SQLITE_OK: return bytes
        case SQLITE_IOERR | 2 << 8: return nil  // SQLITE_IOERR_SHORT_READ
        case let code: throw SQLiteFailure(code: code, message: "the header cannot be read")
        }
    }

    private static func integer(in bytes: [UInt8], at offset: Int) -> Int32 {
        bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int32($1) }
    }
}
