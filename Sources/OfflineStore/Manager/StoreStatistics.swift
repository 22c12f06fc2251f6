import HTTPCacheSemantics
import Synchronization

/// A store in numbers.
public struct StoreStatistics: Sendable, Hashable {
    /// A database that was damaged and left under its number.
    public struct SetAside: Sendable, Hashable {
        /// The file's name in the store's folder.
        public var name: String
        /// Octets that it takes with its log.
        public var bytes: Int64
    }

    /// Responses stored.
    public var responses = 0
    /// Objects stored.
    public var objects = 0
    /// Octets of bodies, heads and keys.
    public var storedBytes: Int64 = 0
    /// Entries that are stale, or no longer live; invalidated ones count too.
    public var expired = 0
    /// Entries that expired but may be used when the network is away.
    public var usableStale = 0
    /// Entries that were invalidated and kept for offline use; those invalidated by a tag, as far as the sweep has come.
    public var invalidated = 0
    /// Entries of which something was found to be damaged: they answer no more, and stay until they are replaced, evicted or removed.
    public var damagedEntries = 0
    /// Entries that are kept from eviction.
    public var pinned = 0
    /// Bodies that no entry names any more, or not yet: unfinished, or to be swept.
    public var unreferencedBodies = 0
    /// Octets of the database file.
    public var databaseBytes: Int64 = 0
    /// Octets of the write-ahead log.
    public var logBytes: Int64 = 0
    /// Octets in the database file that are free to be used again.
    public var freeBytes: Int64 = 0
    /// Octets that the folder may take.
    public var budget: Int64 = 0
    /// The number of the last invalidation.
    public var invalidationSequence: Int64 = 0
    /// Heads and chunks whose checksum did not fit, since this process opened the store.
    public var damagedReads = 0
    /// Objects that did not decode as the type asked for, since this process opened the store.
    public var undecodableObjects = 0
    /// Databases that were damaged and left under their numbers.
    public var setAside: [SetAside] = []
    /// The live database's file name.
    public var databaseName = ""
    /// The version of the schema.
    public var schemaVersion = 0
    /// The version of the system's SQLite.
    public var sqliteVersion = ""
    /// Whether it was opened for reading alone.
    public var isReadOnly = false
}

extension CacheManager {
    /// The store in numbers, as of now.
    ///
    /// Counting goes through an index and reads neither heads nor bodies.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    public func statistics() async throws -> StoreStatistics {
        let now = now()
        var (statistics, database) = try core.read { connection, database in
            var statistics = StoreStatistics()
            try statistics.count(connection, database.state, at: now)
            return (statistics, database)
        }
        let folder = core.folder
        statistics.setAside = ((try? folder.databases()) ?? []).filter { $0 != database.number }.map {
            StoreStatistics.SetAside(name: StoreFolder.databaseName($0), bytes: folder.size(ofDatabase: $0))
        }
        statistics.databaseBytes = (try? FileStatus(path: database.path))?.size ?? 0
        statistics.logBytes = (try? FileStatus(path: database.path + "-wal"))?.size ?? 0
        statistics.budget = database.state.limits.budget
        statistics.invalidationSequence = core.sequence.load(ordering: .acquiring)
        statistics.damagedReads = core.damagedReads.load(ordering: .relaxed)
        statistics.undecodableObjects = core.undecodableObjects.load(ordering: .relaxed)
        statistics.databaseName = StoreFolder.databaseName(database.number)
        statistics.schemaVersion = Int(database.schemaVersion)
        statistics.isReadOnly = isReadOnly
        return statistics
    }
}

extension StoreStatistics {
    fileprivate mutating func count(_ connection: Connection, _ state: DatabaseState, at now: Timestamp) throws {
        let statement = try connection.prepare(
            """
            SELECT kind, count(*), sum(size), sum(is_pinned),
                sum(is_invalidated = 1 OR sequence < CASE kind WHEN 0 THEN ?2 ELSE ?3 END),
                sum(is_invalidated = 1 OR expires_at <= ?1 OR sequence < CASE kind WHEN 0 THEN ?2 ELSE ?3 END),
                sum(is_usable_stale = 1
                    AND (is_invalidated = 1 OR expires_at <= ?1 OR sequence < CASE kind WHEN 0 THEN ?2 ELSE ?3 END))
            FROM entry INDEXED BY entry_by_expiry GROUP BY kind
            """
        )
        statement.bind(1, now.milliseconds)
        statement.bind(2, state.responseFloor.load(ordering: .acquiring))
        statement.bind(3, state.objectFloor.load(ordering: .acquiring))
        while try statement.step() {
            let count = Int(statement.integer(1))
            if statement.integer(0) == EntryKind.response.rawValue { responses = count } else { objects = count }
            storedBytes += statement.integer(2)
            pinned += Int(statement.integer(3))
            invalidated += Int(statement.integer(4))
            expired += Int(statement.integer(5))
            usableStale += Int(statement.integer(6))
        }
        statement.reset()
        damagedEntries = try DamageLog.count(connection, state)
        unreferencedBodies = Int(try connection.integer("SELECT count(*) FROM garbage") ?? 0)
        freeBytes = (try connection.integer("PRAGMA freelist_count") ?? 0) * StoreLimits.pageSize
        let version = try connection.prepare("SELECT sqlite_version()")
        if try version.step() { sqliteVersion = version.text(0) }
        version.reset()
    }
}
