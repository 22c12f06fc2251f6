import HTTPCacheSemantics
import LibC
import Logging
import StoreFiles

/// One open numbered database: its writer, its readers, and their shared state.
final class StoreDatabase: Sendable {
    let number: Int
    let path: String
    let state: DatabaseState
    let schemaVersion: Int32
    /// `nil` if the database is open only for reading.
    let writer: StoreWriter?
    let readers: ReaderPool
    /// The file's inode. A store that was deleted and created again has the same file names.
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

    /// The settings for opening a database.
    struct Settings: Sendable {
        var limits: StoreLimits
        var keyHash: (@Sendable ([UInt8]) -> UInt64)?
        var logger: Logger
        var telemetry: StoreTelemetry?
        /// The lock on the folder; `nil` if another process may hold it.
        var lock: FolderLock?

        /// Logs that a database lacks invalidations that took effect before it was opened.
        ///
        /// - Parameter count: their number; `nil` if it is not known.
        func warnOfLostInvalidations(_ count: Int64?, _ path: String) {
            var metadata: Logger.Metadata = ["store.path": "\(path)"]
            metadata["store.invalidations.lost"] = count.map { "\($0)" }
            logger.warning(
                """
                the database may have lost invalidations; every entry in it is treated as invalidated; \
                repeat purges that removed responses
                """,
                metadata: metadata
            )
        }
    }

    /// Opens a database for writing, and migrates its schema.
    ///
    /// - Parameters:
    ///   - known: the last invalidation in the sidecar; `nil` if it has none.
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
        let connection = try DatabaseOpening.writer(path: path, limits: settings.limits)
        do {
            let version = Int32(truncatingIfNeeded: try connection.integer("PRAGMA user_version") ?? 0)
            try DatabaseHeader.checkVersion(version, path: path)
            try DatabaseOpening.migrate(connection, from: version)
            try connection.run("PRAGMA journal_mode = WAL")
            // A log that could only be opened for reading would stay that way until the store is
            // reopened. This fails now instead of on every write.
            try connection.run("BEGIN IMMEDIATE")
            try connection.run("ROLLBACK")
            let row = try Self.row(connection)
            let state = try state(of: row, settings, isWriter: true)
            let readers = try ReaderPool(count: settings.limits.readerCount, commits: state.commits) {
                let reader = try DatabaseOpening.reader(path: path, cache: $0)
                reader.enableCachedReads(path: path)
                return reader
            }
            let writer = StoreWriter(
                connection: connection,
                path: path,
                database: state,
                readers: readers,
                row: row,
                logger: settings.logger,
                telemetry: settings.telemetry,
                lock: settings.lock,
                events: events
            )
            var sequence = row.sequence
            if known.map({ $0 > row.sequence }) ?? true {
                let context = WriteContext(connection: connection, state: state, memory: writer.memory)
                try writer.transaction(connection, isDurable: true) {
                    try context.distrustEverything(above: known ?? row.sequence, at: now)
                }
                context.applyCommit()
                sequence = context.invalidation ?? row.sequence
                settings.warnOfLostInvalidations(known.map { $0 &- row.sequence }, path)
            }
            // The statements of opening are not those of requests.
            connection.forgetStatements()
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
            connection.close()
            throw error
        }
    }

    /// Opens a database only for reading. It takes no lock and writes nothing.
    static func openForReading(
        number: Int,
        path: String,
        folder: String,
        settings: Settings
    ) throws -> (StoreDatabase, sequence: Int64) {
        let sharing = try sharing(path: path, folder: folder, isAlone: settings.lock != nil)
        let readers = try ReaderPool(count: settings.limits.readerCount) {
            try DatabaseOpening.reader(path: path, sharing, cache: $0)
        }
        do {
            let row = try readers.read { connection in
                try DatabaseHeader.checkVersion(
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

    /// Closes all connections.
    ///
    /// - Parameter checkpointing: `false` leaves the files unchanged. The writer then closes first,
    ///   because the last connection would copy the log into the damaged file.
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
            // A table is missing: the header is Holdfast's, but the content is not.
            throw SQLiteFailure(code: 11, message: failure.message)
        }
    }

    static func state(of row: DatabaseOpening.Row, _ settings: Settings, isWriter: Bool) throws -> DatabaseState {
        let state = DatabaseState(
            limits: settings.limits,
            row: row,
            isWriter: isWriter,
            keyHash: settings.keyHash
        )
        guard let state else { throw SQLiteFailure(code: 11, message: "the store's secrets are incomplete") }
        return state
    }

    /// Decides how to read a database. Without the log's index (`-shm`) and permission to create
    /// it, reading works only if the log is empty, or if no process can write the files. The log is
    /// never ignored.
    ///
    /// - Parameter isAlone: whether this process holds the lock on the folder and does not write.
    static func sharing(path: String, folder: String, isAlone: Bool = false) throws -> DatabaseOpening.Sharing {
        if isAlone { return try FileStatus(path: path + "-wal")?.size ?? 0 > 0 ? .alone : .immutable }
        if try FileStatus(path: path + "-shm") != nil || access(folder, W_OK) == 0 { return .locks }
        if let log = try FileStatus(path: path + "-wal"), log.size > 0 {
            if FileSystemStatus(path: folder)?.isReadOnly == true { return .alone }
            throw StoreError(
                code: .unwritable,
                message:
                    "The store '\(folder)' has entries in its write-ahead log, and reading them requires write access to "
                    + "the folder. Stop the writing process cleanly, or copy the folder to a writable location."
            )
        }
        return .immutable
    }
}
