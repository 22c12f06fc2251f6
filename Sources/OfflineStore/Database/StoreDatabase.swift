import GRDB
import HTTPCacheSemantics
import HoldfastMigrations
import Logging

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// One open numbered database: its writer, its readers, and what they share.
final class StoreDatabase: Sendable {
    let number: Int
    let path: String
    let state: DatabaseState
    let schemaVersion: Int32
    /// `nil` when it is open read-only.
    let writer: StoreWriter?
    let readers: ReaderPool
    /// The file's own number: a store that was removed and made anew has the same names.
    let inode: UInt64?

    init(
        number: Int,
        path: String,
        state: DatabaseState,
        schemaVersion: Int32,
        writer: StoreWriter?,
        readers: ReaderPool
    ) {
        self.number = number
        self.path = path
        self.state = state
        self.schemaVersion = schemaVersion
        self.writer = writer
        self.readers = readers
        self.inode = (try? FileStatus(path: path))?.inode
    }

    /// What a database is opened with.
    struct Settings: Sendable {
        var limits: StoreLimits
        var keyHash: (@Sendable ([UInt8]) -> UInt64)?
        var logger: Logger
        /// The claim on the folder; `nil` when reading alone.
        var lock: FolderLock?
    }

    /// Opens a database for writing, and brings its schema up to date.
    ///
    /// - Parameters:
    ///   - known: the last invalidation that the sidecar tells of; `nil` when it tells nothing.
    ///   - now: recorded with an invalidation of everything, if one is needed.
    /// - Returns: the database, and the number of its last invalidation.
    static func openForWriting(
        number: Int,
        path: String,
        settings: Settings,
        known: Int64?,
        now: Timestamp,
        events: StoreWriter.Events
    ) throws -> (StoreDatabase, sequence: Int64) {
        let queue = try DatabaseOpening.writer(path: path, limits: settings.limits)
        do {
            let row = try queue.writeWithoutTransaction { database in
                let connection = Connection(database)
                let version = Int32(truncatingIfNeeded: try connection.integer("PRAGMA user_version") ?? 0)
                try checkVersion(version, path: path)
                try DatabaseOpening.migrate(connection, from: version)
                try connection.run("PRAGMA journal_mode = WAL")
                // A log that could be opened for reading alone would stay so until the store is
                // opened again: found out now, and not by every write.
                try connection.run("BEGIN IMMEDIATE")
                try connection.run("ROLLBACK")
                return try Self.row(connection)
            }
            let state = try state(of: row, settings, isWriter: true)
            let readers = try ReaderPool(count: settings.limits.readerCount, commits: state.commits) {
                try DatabaseOpening.reader(path: path, cache: $0)
            }
            let writer = StoreWriter(
                queue: queue,
                path: path,
                database: state,
                readers: readers,
                row: row,
                logger: settings.logger,
                lock: settings.lock,
                events: events
            )
            var sequence = row.sequence
            if known.map({ $0 > row.sequence }) ?? true {
                sequence = try queue.writeWithoutTransaction { database in
                    let connection = Connection(database)
                    let context = WriteContext(connection: connection, state: state, memory: writer.memory)
                    try writer.transaction(connection, isDurable: true) {
                        try context.softExpireEverything(above: known ?? row.sequence, at: now)
                    }
                    context.committed()
                    return context.invalidation ?? row.sequence
                }
                settings.logger.warning(
                    "the database may have lost invalidations; everything in it counts as invalidated",
                    metadata: ["store.path": "\(path)"]
                )
            }
            let database = StoreDatabase(
                number: number,
                path: path,
                state: state,
                schemaVersion: row.schemaVersion,
                writer: writer,
                readers: readers
            )
            return (database, sequence)
        } catch {
            try? queue.close()
            throw error
        }
    }

    /// Opens a database for reading alone: no lock is taken and nothing is written.
    static func openForReading(
        number: Int,
        path: String,
        folder: String,
        settings: Settings
    ) throws -> (StoreDatabase, sequence: Int64) {
        let sharing = try sharing(path: path, folder: folder)
        let readers = try ReaderPool(count: settings.limits.readerCount) {
            try DatabaseOpening.reader(path: path, sharing, cache: $0)
        }
        do {
            let row = try readers.read { connection in
                try checkVersion(
                    Int32(truncatingIfNeeded: try connection.integer("PRAGMA user_version") ?? 0),
                    path: path
                )
                return try Self.row(connection)
            }
            let database = StoreDatabase(
                number: number,
                path: path,
                state: try state(of: row, settings, isWriter: false),
                schemaVersion: row.schemaVersion,
                writer: nil,
                readers: readers
            )
            return (database, row.sequence)
        } catch {
            readers.close()
            throw error
        }
    }

    /// - Throws: ``StoreError`` with `newerSchema`.
    static func checkVersion(_ version: Int32, path: String) throws {
        guard version > Migrations.latestVersion else { return }
        throw StoreError(
            code: .newerSchema,
            message: "The database '\(path)' has schema version \(version); this program knows versions up to "
                + "\(Migrations.latestVersion). Use a newer program, or another folder. Nothing was changed."
        )
    }

    /// Closes everything.
    ///
    /// - Parameter checkpointing: `false` leaves the files as they are: the writer goes first, so
    ///   that it is not the last connection, which would copy the log into the damaged file.
    func close(checkpointing: Bool) throws {
        if checkpointing {
            readers.close()
            try writer?.close(checkpointing: true)
        } else {
            try? writer?.close(checkpointing: false)
            readers.close()
        }
    }

    static func row(_ connection: Connection) throws -> DatabaseOpening.Row {
        do {
            return try DatabaseOpening.row(connection)
        } catch let failure as SQLiteFailure where failure.primaryCode == 1 {
            // A table is missing: the file is ours by its header and not by its content.
            throw SQLiteFailure(code: 11, message: failure.message)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            throw SQLiteFailure(code: 11, message: error.message ?? "the schema is not whole")
        }
    }

    static func state(of row: DatabaseOpening.Row, _ settings: Settings, isWriter: Bool) throws -> DatabaseState {
        let state = DatabaseState(
            limits: settings.limits,
            row: row,
            isWriter: isWriter,
            keyHash: settings.keyHash
        )
        guard let state else { throw SQLiteFailure(code: 11, message: "the store's secrets are not whole") }
        return state
    }

    /// Without an index of the log (`-shm`), and without the right to make one, a database can be
    /// read only if the log is empty, or if no process can make one: never as if there were no log.
    static func sharing(path: String, folder: String) throws -> DatabaseOpening.Sharing {
        if try FileStatus(path: path + "-shm") != nil || access(folder, W_OK) == 0 { return .locks }
        if let log = try FileStatus(path: path + "-wal"), log.size > 0 {
            if FileSystemStatus(path: folder)?.isReadOnly == true { return .alone }
            throw StoreError(
                code: .unwritable,
                message:
                    "The store '\(folder)' has entries in its log, which can be read only where this process may write "
                    + "in the folder. Close the writing process properly, or copy the folder to where it is writable."
            )
        }
        return .immutable
    }
}
