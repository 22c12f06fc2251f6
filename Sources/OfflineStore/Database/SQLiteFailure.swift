import CSQLite
import LibC
import StoreFiles

/// A failed SQLite call, with its extended result code.
struct SQLiteFailure: Error, CustomStringConvertible {
    var code: Int32
    var message: String

    init(code: Int32, message: String) {
        self.code = code
        self.message = message
    }

    /// - Parameter connection: provides the message, and shows whether apparent damage was a disk
    ///   error.
    init(code: Int32, connection: OpaquePointer?) {
        self.init(code: code, message: connection.map { String(cString: sqlite3_errmsg($0)) } ?? "no connection")
        guard isDamage, let connection, let reason = Self.takeDiskError(of: connection) else { return }
        self.code = Self.failedRead
        message = String(cString: strerror(reason))
    }

    /// `SQLITE_IOERR_CORRUPTFS`, which SQLite converts to `SQLITE_CORRUPT` before it reports it.
    private static let failedRead: Int32 = SQLITE_IOERR | 33 << 8

    /// Returns the disk error if a read of the database or its log failed with `EIO` (or `ENXIO` or
    /// `ERANGE`). SQLite reports such a failure as a corrupt database, but a temporary disk failure
    /// does not damage anything.
    ///
    /// SQLite keeps the error number until a read returns fewer bytes than requested, so this
    /// performs such a read to clear it. Real damage will be found again.
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

    var primaryCode: Int32 { code & 0xff }
    var description: String { "SQLite error \(code): \(message)" }

    /// Whether the file is damaged, or is no longer a database.
    var isDamage: Bool { primaryCode == SQLITE_CORRUPT || primaryCode == SQLITE_NOTADB }

    /// Returns the store error for this failure.
    func storeError(path: String, whileOpening: Bool = false) -> StoreError {
        switch primaryCode {
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            StoreError(
                code: .damaged,
                message:
                    "The database '\(path)' is damaged (\(message)). Its file stays in place; the writing process continues with a new database.",
                cause: self
            )
        case SQLITE_FULL:
            StoreError(
                code: .full,
                message:
                    "The disk that holds '\(path)' is full. \(StoreError.fullDiskAdvice(whileOpening))",
                cause: self
            )
        case SQLITE_CANTOPEN where SystemFailure.isOutOfDescriptors:
            SystemFailure.outOfDescriptors(path, cause: self)
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_CANTOPEN:
            StoreError(
                code: .unwritable,
                message:
                    "Cannot open or change '\(path)' (\(message)). \(AccessAdvice(path: path, number: 0))",
                cause: self
            )
        default:
            StoreError(
                code: .io,
                message:
                    "An operation on '\(path)' failed (\(message), code \(code)). Check the disk, then try again.",
                cause: self
            )
        }
    }
}
