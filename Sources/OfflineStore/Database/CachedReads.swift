import CProcess
import CSQLite
import LibC
import StoreFiles

/// Lets the owner of a reading connection ask for reads that fail instead of waiting for a disk.
///
/// SQLite calls a file through a table of functions that the file points to. This type gives the
/// database and its log tables that differ only in the function for reading. It uses SQLite's own
/// descriptors, because closing any other descriptor of these files would release the locks that
/// SQLite has on them. Decision 115.
///
/// Not sendable: only the owner of the connection uses it.
final class CachedReads {
    /// A table of functions, and the values that the function for reading needs.
    private struct Table {
        /// SQLite has a pointer to this property, so it must be the first.
        var functions: sqlite3_io_methods
        let original: UnsafePointer<sqlite3_io_methods>
        let descriptor: Int32
        var mayWait = true
    }

    private let files: [UnsafeMutablePointer<sqlite3_file>]
    private let tables: [UnsafeMutablePointer<Table>]

    /// Whether reads may wait for the disk. If not, a read that would wait fails, and ends the
    /// connection's transaction.
    var mayWait = true {
        didSet {
            for table in tables { table.pointee.mayWait = mayWait }
        }
    }

    /// `SQLITE_IOERR_BLOCKED`. SQLite ends the transaction after this error, as after every failed
    /// read.
    private static let wouldWait: Int32 = SQLITE_IOERR | 11 << 8

    /// - Parameters:
    ///   - connection: has read from a database with a write-ahead log.
    ///   - path: the database's path.
    /// - Returns: `nil` if the system or the file system has no such reads, or if this build of
    ///   SQLite does not have the descriptors where they are expected. Nothing has changed then.
    init?(_ connection: OpaquePointer, path: String) {
        guard CachedReads.usesOrdinaryFiles(connection),
            let database = SQLiteFile(connection, SQLITE_FCNTL_FILE_POINTER, path: path),
            let log = SQLiteFile(connection, SQLITE_FCNTL_JOURNAL_POINTER, path: path + "-wal")
        else { return nil }
        files = [database.pointer, log.pointer]
        tables = [database, log].map { file in
            var functions = file.functions.pointee
            functions.xRead = { CachedReads.read($0, $1, $2, $3) }
            let table = UnsafeMutablePointer<Table>.allocate(capacity: 1)
            table.initialize(
                to: Table(functions: functions, original: file.functions, descriptor: file.descriptor)
            )
            return table
        }
        for (file, table) in zip(files, tables) {
            file.pointee.pMethods = UnsafeRawPointer(table).assumingMemoryBound(to: sqlite3_io_methods.self)
        }
    }

    /// Gives the files their original tables. Must be called before the connection is closed.
    func remove() {
        for (file, table) in zip(files, tables) { file.pointee.pMethods = table.pointee.original }
    }

    deinit {
        for table in tables { table.deallocate() }
    }

    /// The function for reading, in place of SQLite's.
    private static func read(
        _ file: UnsafeMutablePointer<sqlite3_file>?,
        _ bytes: UnsafeMutableRawPointer?,
        _ count: Int32,
        _ offset: sqlite3_int64
    ) -> Int32 {
        guard let file, let functions = file.pointee.pMethods else { return SQLITE_MISUSE }
        let table = UnsafeRawPointer(functions).assumingMemoryBound(to: Table.self)
        if table.pointee.mayWait {
            guard let read = table.pointee.original.pointee.xRead else { return SQLITE_MISUSE }
            return read(file, bytes, count, offset)
        }
        // Fewer bytes may be the end of the file, or the end of what the kernel has in memory.
        let isWhole = cprocess_readCached(table.pointee.descriptor, bytes, count, offset) == count
        return isWhole ? SQLITE_OK : wouldWait
    }

    /// Whether the connection's files are those of SQLite's usual implementation for Unix.
    private static func usesOrdinaryFiles(_ connection: OpaquePointer) -> Bool {
        var system: UnsafeMutablePointer<sqlite3_vfs>?
        guard sqlite3_file_control(connection, "main", SQLITE_FCNTL_VFS_POINTER, &system) == SQLITE_OK,
            let system, let name = system.pointee.zName
        else { return false }
        return strcmp(name, "unix") == 0 && system.pointee.szOsFile >= SQLiteFile.minimumSize
    }
}

/// An open file of SQLite, with its descriptor.
private struct SQLiteFile {
    let pointer: UnsafeMutablePointer<sqlite3_file>
    let functions: UnsafePointer<sqlite3_io_methods>
    let descriptor: Int32

    /// Three pointers come before the descriptor in SQLite's private structure `unixFile`.
    private static let offset = 3 * MemoryLayout<UnsafeRawPointer>.size
    static let minimumSize = offset + MemoryLayout<Int32>.size

    /// - Parameter file: the file control that returns the file.
    /// - Returns: `nil` unless the descriptor is open, belongs to the file at the path, and can be
    ///   read without waiting.
    init?(_ connection: OpaquePointer, _ file: Int32, path: String) {
        var found: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(connection, "main", file, &found) == SQLITE_OK, let found,
            let functions = found.pointee.pMethods
        else { return nil }
        let descriptor = UnsafeRawPointer(found).load(fromByteOffset: Self.offset, as: Int32.self)
        // SQLite does not document its structure, so this checks what was found there.
        guard let named = try? FileIdentity(path: path), FileIdentity(descriptor: descriptor) == named else {
            return nil
        }
        var byte: UInt8 = 0
        guard cprocess_readCached(descriptor, &byte, 1, 0) >= 0 || errno == EAGAIN else { return nil }
        (pointer, self.functions, self.descriptor) = (found, functions, descriptor)
    }
}
