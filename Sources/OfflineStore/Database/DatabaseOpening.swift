import CSQLite
import HoldfastMigrations
import LibC
import StoreFiles

/// Opens connections, and creates databases. The schema is in `Migrations`.
package enum DatabaseOpening {
    /// The single row of the table `store`, with facts about the other tables.
    struct Row: Sendable {
        var secrets: StoreSecrets
        var nextID: Int64 = 0
        var sequence: Int64 = 0
        var logLowWaterMark: Int64 = 0
        var responseLowWaterMark: Int64 = 0
        var objectLowWaterMark: Int64 = 0
        var responseRemoved: Int64 = 0
        var objectRemoved: Int64 = 0
        var recency: Int64 = 0
        var schemaVersion: Int32 = 0
        /// Whether any entry has a tag.
        var hasTags = false
        /// Whether the store has joined a fleet's log of invalidations.
        var isInFleet = false
        /// The latest `stored_at` among the 256 newest entries.
        var latestStored = Int64.min
    }

    /// How long the writer waits for other connections' locks.
    static let busyMilliseconds: Int32 = 500

    /// Opens the writer's connection.
    static func writer(path: String, limits: StoreLimits) throws -> Connection {
        // Reads take moments; half a second is enough for a reader that was paused.
        try Connection(path: path, isWritable: true, busyMilliseconds: busyMilliseconds) { connection in
            try prepare(connection)
            // Without a chunk size, SQLite does not reserve disk space ahead of writes.
            var step = Int32(StoreLimits.pageSize)
            sqlite3_file_control(connection.pointer, "main", SQLITE_FCNTL_CHUNK_SIZE, &step)
            // If SQLite cannot open a file for writing (because of too few descriptors, for
            // example), it opens it for reading, and keeps it that way.
            if let pointer = connection.pointer, sqlite3_db_readonly(pointer, "main") != 0 {
                throw SQLiteFailure(code: SQLITE_CANTOPEN, message: "it could be opened only for reading")
            }
            try connection.run("PRAGMA page_size = 8192")
            try connection.run("PRAGMA wal_autocheckpoint = 0")
            try connection.run("PRAGMA synchronous = NORMAL")
            try connection.run("PRAGMA journal_size_limit = \(limits.log)")
            try connection.run("PRAGMA temp_store = MEMORY")
            try connection.run("PRAGMA mmap_size = 0")
            try connection.run("PRAGMA cache_size = -16384")
            try connection.run("PRAGMA secure_delete = \(limits.securelyDeletes ? "ON" : "OFF")")
            try connection.run("PRAGMA trusted_schema = OFF")
        }
    }

    /// Runs `body` with a writing connection, outside of any transaction, and closes it.
    package static func withWriter(path: String, limits: StoreLimits, _ body: (Connection) throws -> Void) throws {
        let connection = try writer(path: path, limits: limits)
        defer { connection.close() }
        try body(connection)
    }

    /// How a reading connection shares files with other processes.
    enum Sharing: Sendable {
        /// Through locks and the log's index.
        case locks
        /// No process can write the file, and there is no log to read.
        case immutable
        /// No process can write the files, and the log has no index. The connection reads the whole
        /// log and keeps an index in its own memory.
        case alone

        /// The parameter of SQLite's file URI.
        fileprivate var parameter: String? {
            switch self {
            case .locks: nil
            case .immutable: "immutable=1"
            case .alone: "vfs=unix-none"
            }
        }
    }

    /// Opens a reading connection.
    ///
    /// - Parameter cache: the size of its page cache, in bytes.
    static func reader(path: String, _ sharing: Sharing = .locks, cache: Int = 2 << 20) throws -> Connection {
        try Connection(
            path: path,
            isWritable: false,
            parameter: sharing.parameter,
            busyMilliseconds: 5_000
        ) { connection in
            try prepare(connection)
            // Must be set before the log is first read. There are no locks (see above), because a
            // write lock is impossible on such a file.
            if sharing == .alone { try connection.run("PRAGMA locking_mode = EXCLUSIVE") }
            try connection.run("PRAGMA mmap_size = 0")
            try connection.run("PRAGMA temp_store = MEMORY")
            try connection.run("PRAGMA cache_size = -\(cache >> 10)")
            try connection.run("PRAGMA trusted_schema = OFF")
        }
    }

    /// Attaches a database to a connection under the name `source`, only for reading.
    ///
    /// - Parameter connection: was opened with a parameter of file URIs.
    static func attachSource(_ path: String, _ sharing: Sharing, to connection: Connection) throws {
        // As in a reading connection. The mode applies to databases that are attached later.
        if sharing == .alone { try connection.run("PRAGMA locking_mode = EXCLUSIVE") }
        let uri = Connection.uri(path, [sharing.parameter, "mode=ro"].compactMap(\.self).joined(separator: "&"))
        let statement = try connection.prepare("ATTACH DATABASE ?1 AS source")
        statement.bind(1, text: uri)
        try statement.run()
        try persistLog(connection, of: "source")
        try connection.run("PRAGMA source.mmap_size = 0")
    }

    private static func prepare(_ connection: Connection) throws {
        try persistLog(connection)
        try PendingInvalidation.addFunction(to: connection)
    }

    /// Keeps the log when the last connection closes. Removing it could affect a process that is
    /// just opening the store.
    private static func persistLog(_ connection: Connection, of database: String = "main") throws {
        var isPersistent: Int32 = 1
        let code = sqlite3_file_control(connection.pointer, database, SQLITE_FCNTL_PERSIST_WAL, &isPersistent)
        guard code == SQLITE_OK else { throw SQLiteFailure(code: code, connection: connection.pointer) }
    }

    /// Creates a new database. It is complete and synced when this returns, but `CURRENT` does not
    /// name it yet.
    ///
    /// The identity and the schema are written in one transaction, before the switch to a
    /// write-ahead log. So if the process ends at any moment, the file is empty, has a journal next
    /// to it, or is complete. The header alone shows which program the file belongs to.
    package static func create(
        path: String,
        limits: StoreLimits,
        secrets: StoreSecrets,
        firstID: Int64,
        sequence: Int64
    ) throws {
        // Created here instead of by SQLite, to set its mode. The log and its index inherit the
        // mode.
        _ = try FileHandle(path: path, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
        try withWriter(path: path, limits: limits) { connection in
            try connection.run("PRAGMA synchronous = FULL")
            // Not `BEGIN IMMEDIATE`, which would create the first page. That page fixes whether
            // free pages can be returned.
            try connection.run("BEGIN")
            try writeSchema(connection)
            let statement = try connection.prepare(
                """
                INSERT INTO store (id, key_secret, credential_secret, next_id, sequence, log_floor, response_floor, object_floor)
                VALUES (1, ?1, ?2, ?3, ?4, ?4, 0, 0)
                """
            )
            statement.bind(1, secrets.key)
            statement.bind(2, secrets.credential)
            statement.bind(3, firstID)
            statement.bind(4, sequence)
            try statement.run()
            try connection.run("COMMIT")
            try connection.run("PRAGMA journal_mode = WAL")
        }
    }

    /// Writes the identity and the schema into an empty database.
    ///
    /// - Parameter version: the schema's version.
    static func writeSchema(_ connection: Connection, version: Int32 = Migrations.latestVersion) throws {
        // This statement writes. Outside a transaction, it would leave a database without an
        // application ID.
        try connection.run("PRAGMA auto_vacuum = INCREMENTAL")
        try connection.run("PRAGMA application_id = \(Migrations.applicationID)")
        for step in Migrations.all where step.version <= version { try apply(step, connection) }
    }

    /// Applies the missing migrations to a database, each in its own transaction.
    static func migrate(_ connection: Connection, from version: Int32) throws {
        for step in Migrations.all where step.version > version {
            try connection.transaction { try apply(step, connection) }
        }
    }

    private static func apply(_ step: Migration, _ connection: Connection) throws {
        try connection.execute(script: step.sql)
        try connection.run("PRAGMA user_version = \(step.version)")
    }

    /// Reads the row of the table `store`; throws a damage error if that fails.
    static func row(_ connection: Connection) throws -> Row {
        let version = try connection.integer("PRAGMA user_version") ?? 0
        let removed = version < DatabaseState.sweepSchemaVersion ? "0, 0" : "response_removed, object_removed"
        let recency = try connection.integer("SELECT max(recency) FROM entry WHERE is_pinned = 0") ?? 0
        let hasTags =
            try version >= DatabaseState.tagSchemaVersion && connection.integer("SELECT 1 FROM tag LIMIT 1") != nil
        let statement = try connection.prepare(
            """
            SELECT key_secret, credential_secret, next_id, sequence, response_floor, object_floor, log_floor, \(removed)
            FROM store WHERE id = 1
            """
        )
        defer { statement.reset() }
        guard try statement.step() else { throw WriteContext.missingRow }
        return Row(
            secrets: StoreSecrets(key: statement.bytes(0), credential: statement.bytes(1)),
            nextID: statement.integer(2),
            sequence: statement.integer(3),
            logLowWaterMark: statement.integer(6),
            responseLowWaterMark: statement.integer(4),
            objectLowWaterMark: statement.integer(5),
            responseRemoved: statement.integer(7),
            objectRemoved: statement.integer(8),
            recency: recency,
            schemaVersion: Int32(truncatingIfNeeded: version),
            hasTags: hasTags,
            isInFleet: try version >= DatabaseState.fleetSchemaVersion
                && connection.integer("SELECT 1 FROM shared_log") != nil,
            latestStored: try connection.integer(
                "SELECT max(stored_at) FROM (SELECT stored_at FROM entry ORDER BY id DESC LIMIT 256)"
            ) ?? .min
        )
    }
}
