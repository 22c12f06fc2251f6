import GRDBSQLite
import HoldfastMigrations

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What the first hundred bytes of a file say, read without SQLite.
///
/// Opening a file through SQLite can change it (a journal rolled back, a write-ahead log begun), so
/// whose it is gets known first.
enum DatabaseHeader: Equatable {
    /// One of ours, of this schema version.
    case ours(version: Int32)
    /// A SQLite database of another program.
    case foreign
    /// No SQLite database.
    case unreadable
    /// Nothing there.
    case missing

    init(path: String) throws {
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

    private static let length: Int64 = 100

    /// Reads through SQLite's own file, without its pager: no lock is taken, and no journal or log
    /// is looked at.
    ///
    /// Not through a descriptor of ours. Closing one lets go of every lock that this process holds
    /// on the file (POSIX), those of a store that is open here included; another program would then
    /// take itself for the last one, and remove the log. SQLite keeps a descriptor open for as long
    /// as this process holds locks.
    ///
    /// - Returns: `nil` when it cannot be read.
    private static func read(_ path: String) throws -> [UInt8]? {
        // What `errno` says of it, before SQLite says it in its own words.
        guard access(path, R_OK) == 0 else { throw SystemFailure("open", path) }
        // An existing store's header is what a process reads first of SQLite.
        MemoryStatistics.endedIfUnused
        var connection: OpaquePointer?
        defer { sqlite3_close(connection) }
        let opened = sqlite3_open_v2(path, &connection, SQLITE_OPEN_READONLY, nil)
        // Too few descriptors, say: nothing is known of the file then.
        guard opened == SQLITE_OK else { throw SQLiteFailure(code: opened, connection: connection) }
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

    /// Reads the first page through a connection of its own.
    ///
    /// - Throws: ``SQLiteFailure`` that tells of the disk, if it was the disk that failed; of
    ///   damage if it was not.
    static func examineSchema(of path: String) throws {
        var connection: OpaquePointer?
        defer { sqlite3_close(connection) }
        var code = sqlite3_open_v2(path, &connection, SQLITE_OPEN_READONLY, nil)
        if code == SQLITE_OK { code = sqlite3_exec(connection, "SELECT count(*) FROM sqlite_master", nil, nil, nil) }
        guard code == SQLITE_OK else {
            throw SQLiteFailure(code: sqlite3_extended_errcode(connection), connection: connection)
        }
    }

    private static func integer(in bytes: [UInt8], at offset: Int) -> Int32 {
        bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int32($1) }
    }
}
