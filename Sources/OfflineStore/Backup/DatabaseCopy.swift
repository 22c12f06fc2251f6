import CSQLite
import LibC
import StoreFiles

/// Copies a database while another process writes to it.
///
/// 1. Chunks of bodies are copied in short reads, so that the write-ahead log never waits for them.
///    A chunk never changes, and its number is never used again.
/// 2. One snapshot copies all other tables, and those chunks of its entries that are still missing.
///    The copy is the database at that moment.
/// 3. Without the source, chunks that belong to no entry are removed, and the indexes are made.
///
/// The file is of no use until all of this is done, so nothing is journaled.
///
/// Not sendable, because it runs inside one call.
final class DatabaseCopy {
    /// The number of rows in the finished copy, and their sizes.
    struct Content {
        var responses = 0
        var objects = 0
        var bytes: Int64 = 0
        var databaseBytes: Int64 = 0
        var sequence: Int64 = 0
    }

    /// The number of chunks that one read copies: at most 16 MiB.
    static let chunksPerRead: Int64 = 256
    /// The number of bytes between two syncs. Without them, one sync at the end would write
    /// everything, and the store's own syncs on the same disk would wait for it.
    static let syncStep: Int64 = 32 << 20

    private static let settings = [
        "page_size = 8192", "journal_mode = OFF", "synchronous = OFF", "cache_size = -16384", "mmap_size = 0",
        "trusted_schema = OFF",
        // A body that is removed during the backup must not stay in the copy's free pages.
        "secure_delete = ON",
    ]

    private let path: String
    private let file: FileHandle
    private let connection: Connection
    /// The tables that the snapshot copies.
    private let tables: [String]
    /// The statements that make the indexes.
    private let indexes: [String]
    /// The number of the last chunk that was copied in a short read.
    private var cursor = Int64.min
    private var syncedBytes: Int64 = 0

    /// Creates the copy, without content.
    ///
    /// - Parameters:
    ///   - source: the path of the database.
    ///   - version: the version of its schema.
    ///   - path: the path of the copy, at which nothing exists.
    init(of source: String, _ sharing: DatabaseOpening.Sharing, version: Int32, to path: String) throws {
        // Created here instead of by SQLite, to set its mode.
        file = try FileHandle(path: path, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
        let connection = try Connection(path: path, isWritable: true, parameter: "mode=rw", busyMilliseconds: 5_000) {
            for setting in DatabaseCopy.settings { try $0.run("PRAGMA \(setting)") }
        }
        try DatabaseOpening.writeSchema(connection, version: version)
        // The snapshot is shorter if it does not write to indexes.
        indexes = try Self.takeIndexes(connection)
        // Only this copy has it: the bodies that were copied, and how many of their chunks.
        try connection.run("CREATE TABLE backup_body (body_id INTEGER PRIMARY KEY, chunks INTEGER NOT NULL)")
        tables = try Self.names(
            connection,
            """
            SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
                AND name NOT IN ('chunk', 'garbage', 'backup_body')
            """
        )
        self.path = path
        self.connection = connection
        connection.forgetStatements()
        try DatabaseOpening.attachSource(source, sharing, to: connection)
    }

    private static func names(_ connection: Connection, _ sql: String) throws -> [String] {
        let statement = try connection.prepare(sql)
        defer { statement.reset() }
        var names: [String] = []
        while try statement.step() { names.append(statement.text(0)) }
        return names
    }

    /// Drops the indexes, and returns the statements that make them again.
    private static func takeIndexes(_ connection: Connection) throws -> [String] {
        let condition = "FROM main.sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name"
        let statements = try names(connection, "SELECT sql \(condition)")
        for name in try names(connection, "SELECT name \(condition)") { try connection.run("DROP INDEX \"\(name)\"") }
        return statements
    }

    /// The size of the copy, in bytes.
    var bytes: Int64 {
        get throws { (try connection.integer("PRAGMA main.page_count") ?? 0) * StoreLimits.pageSize }
    }

    // MARK: Bodies

    /// Copies the chunks that were committed since the last call.
    ///
    /// - Parameter pause: runs after each read, when the copy holds no snapshot.
    /// - Returns: the number of bytes by which the copy grew.
    func copyBodies(_ pause: () throws -> Void = {}) throws -> Int64 {
        let before = try bytes
        // A fast writer must not keep this from ending.
        let end = try connection.integer("SELECT max(id) FROM source.chunk") ?? 0
        while cursor < end, try copyChunks(through: end) {
            try synchronizeIfDue()
            try pause()
        }
        return try bytes - before
    }

    /// - Returns: whether there was a chunk to copy.
    private func copyChunks(through end: Int64) throws -> Bool {
        try connection.run("BEGIN")
        try connection.run(
            """
            INSERT INTO main.chunk (id, checksum, data)
            SELECT id, checksum, data FROM source.chunk WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3
            """,
            cursor,
            end,
            Self.chunksPerRead
        )
        guard connection.changes > 0, let last = try connection.integer("SELECT max(id) FROM main.chunk") else {
            try connection.run("COMMIT")
            return false
        }
        try connection.run(
            """
            INSERT INTO main.backup_body (body_id, chunks)
            SELECT id >> 16, count(*) FROM main.chunk WHERE id > ?1 AND id <= ?2 GROUP BY id >> 16
            ON CONFLICT (body_id) DO UPDATE SET chunks = chunks + excluded.chunks
            """,
            cursor,
            last
        )
        try connection.run("COMMIT")
        cursor = last
        return true
    }

    private func synchronizeIfDue() throws {
        let bytes = try bytes
        guard bytes - syncedBytes >= Self.syncStep else { return }
        try file.synchronize()
        syncedBytes = bytes
    }

    // MARK: The snapshot

    /// Copies everything else, in one snapshot.
    ///
    /// A body may be numbered long before it is committed, and its first chunks long before its
    /// last ones. So every entry's chunks are counted.
    ///
    /// - Parameter check: runs in the snapshot, with the version of the source's schema.
    func copyEntries(_ check: (_ version: Int64) throws -> Void = { _ in }) throws {
        try connection.run("BEGIN")
        for table in tables { try connection.run("INSERT INTO main.\"\(table)\" SELECT * FROM source.\"\(table)\"") }
        try connection.run(
            """
            INSERT OR IGNORE INTO main.chunk (id, checksum, data)
            SELECT c.id, c.checksum, c.data FROM main.entry e CROSS JOIN source.chunk c
            WHERE e.body_length > \(StoreLimits.chunkLength) * coalesce(
                    (SELECT chunks FROM main.backup_body b WHERE b.body_id = e.body_id), 0
                )
                AND c.id BETWEEN e.body_id << 16 AND e.body_id << 16 | 65535
            """
        )
        try check(try connection.integer("PRAGMA source.user_version") ?? 0)
        try connection.run("COMMIT")
    }

    // MARK: The end

    /// Completes the copy, which is durable when this returns, and closes it.
    func finish() throws -> Content {
        connection.forgetStatements()
        try connection.run("DETACH DATABASE source")
        try removeOtherChunks()
        for sql in indexes { try connection.execute(script: sql) }
        try connection.run("PRAGMA incremental_vacuum")
        let content = try content()
        let mode = try Self.names(connection, "PRAGMA journal_mode = WAL")
        guard mode == ["wal"] else {
            throw SQLiteFailure(code: SQLITE_ERROR, message: "the copy could not be given a write-ahead log")
        }
        connection.close()
        // The log has nothing: the database was complete when it got one.
        for ending in ["-wal", "-shm", "-journal"] { unlink(path + ending) }
        try file.synchronize()
        return content
    }

    /// Removes chunks whose body was unfinished, replaced or removed when the snapshot was taken.
    private func removeOtherChunks() throws {
        try connection.run(
            "DELETE FROM backup_body WHERE body_id IN (SELECT body_id FROM entry WHERE body_length > 0)"
        )
        try connection.run(
            """
            DELETE FROM chunk WHERE id IN (
                SELECT c.id FROM backup_body b CROSS JOIN chunk c
                WHERE c.id BETWEEN b.body_id << 16 AND b.body_id << 16 | 65535
            )
            """
        )
        connection.forgetStatements()
        try connection.run("DROP TABLE backup_body")
    }

    private func content() throws -> Content {
        var content = Content()
        let statement = try connection.prepare("SELECT kind, count(*), sum(body_length) FROM entry GROUP BY kind")
        while try statement.step() {
            let count = Int(statement.integer(1))
            if statement.integer(0) == EntryKind.response.rawValue {
                content.responses = count
            } else {
                content.objects = count
            }
            content.bytes += statement.integer(2)
        }
        statement.reset()
        guard let sequence = try connection.integer("SELECT sequence FROM store WHERE id = 1") else {
            throw WriteContext.missingRow
        }
        content.sequence = sequence
        content.databaseBytes = try bytes
        return content
    }
}
