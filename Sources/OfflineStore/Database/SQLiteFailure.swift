import GRDB
import GRDBSQLite

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An SQLite call that failed, with its extended result code.
struct SQLiteFailure: Error, CustomStringConvertible {
    var code: Int32
    var message: String

    init(code: Int32, message: String) {
        self.code = code
        self.message = message
    }

    /// - Parameter connection: asked for the words, and whether what looks like damage was the
    ///   disk.
    init(code: Int32, connection: OpaquePointer?) {
        self.init(code: code, message: connection.map { String(cString: sqlite3_errmsg($0)) } ?? "no connection")
        guard isDamage, let connection, let reason = Self.takeDiskError(of: connection) else { return }
        self.code = Self.failedRead
        message = String(cString: strerror(reason))
    }

    /// `SQLITE_IOERR_CORRUPTFS`, which SQLite turns into `SQLITE_CORRUPT` before it tells anybody.
    private static let failedRead: Int32 = SQLITE_IOERR | 33 << 8

    /// Whether a read of the database or of its log failed with `EIO`: SQLite calls that a corrupt
    /// database, but a disk that fails for a moment has damaged nothing.
    ///
    /// It is asked once: SQLite keeps the number until a read comes back short, so one is made.
    /// Damage that is there is found again.
    private static func takeDiskError(of connection: OpaquePointer) -> Int32? {
        var found: Int32?
        for pointer in [SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER] {
            var file: UnsafeMutablePointer<sqlite3_file>?
            guard sqlite3_file_control(connection, "main", pointer, &file) == SQLITE_OK, let file,
                let methods = file.pointee.pMethods, let control = methods.pointee.xFileControl,
                let read = methods.pointee.xRead
            else { continue }
            var number: Int32 = 0
            guard control(file, SQLITE_FCNTL_LAST_ERRNO, &number) == SQLITE_OK, [EIO, ENXIO, ERANGE].contains(number)
            else { continue }
            found = number
            var byte: UInt8 = 0
            _ = read(file, &byte, 1, 1 << 46)
        }
        return found
    }

    /// The failure in any error of this module or of GRDB.
    init?(_ error: any Error) {
        switch error {
        case let failure as SQLiteFailure: self = failure
        case let error as DatabaseError:
            self.init(code: error.extendedResultCode.rawValue, message: error.message ?? "\(error.resultCode)")
        default: return nil
        }
    }

    var primaryCode: Int32 { code & 0xff }
    var description: String { "SQLite error \(code): \(message)" }

    /// The file itself is damaged, or is no database any more.
    var isDamage: Bool { primaryCode == SQLITE_CORRUPT || primaryCode == SQLITE_NOTADB }

    /// This failure as the store's error.
    func storeError(path: String) -> StoreError {
        switch primaryCode {
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            StoreError(
                code: .damaged,
                message:
                    "The database '\(path)' is damaged (\(message)). It stays where it is; who writes the store goes on with a new one.",
                cause: self
            )
        case SQLITE_FULL:
            StoreError(
                code: .full,
                message: "The disk that holds '\(path)' is full. Free some space; the store goes on by itself.",
                cause: self
            )
        case SQLITE_CANTOPEN where SystemFailure.isOutOfDescriptors:
            SystemFailure.outOfDescriptors(path, cause: self)
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_CANTOPEN:
            StoreError(
                code: .unwritable,
                message:
                    "Cannot open or change '\(path)' (\(message)). Give this process the right to write in its folder.",
                cause: self
            )
        default:
            StoreError(
                code: .io,
                message:
                    "An operation on '\(path)' failed (\(message), code \(code)). Check the disk; it may work when tried again.",
                cause: self
            )
        }
    }
}

extension StoreError {
    /// Any error from beneath as an error of the store; those that are one already pass.
    init(_ error: any Error, path: String) {
        if let error = error as? StoreError {
            self = error
        } else if let failure = error as? SystemFailure {
            self = failure.storeError
        } else if let failure = SQLiteFailure(error) {
            self = failure.storeError(path: path)
        } else {
            self.init(code: .io, message: "An operation on '\(path)' failed: \(error). Try again.", cause: error)
        }
    }
}
