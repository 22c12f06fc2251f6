public import HTTPCache
import HTTPCacheSemantics
import StoreFiles
import StoreMemory
import Synchronization

extension CacheManager {
    /// Returns numbers about the store, as of now.
    ///
    /// This counts through an index, and reads neither heads nor bodies. It reads rows only while
    /// an invalidation by tag or prefix is being applied, or if entries were stored while the clock
    /// was ahead.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    public func statistics() async throws -> StoreStatistics {
        let now = now()
        // Read this before the snapshot. Otherwise, an entry that is marked in the table in between
        // would not be counted.
        let unmarked = try core.database().state.damage.unwritten
        var (statistics, database) = try core.read { connection, database in
            var statistics = StoreStatistics()
            try statistics.count(connection, database.state, at: now)
            statistics.quotas = try database.state.limits.quotas.uses(connection, database.state)
            statistics.damagedEntries = try DamageLog.count(connection, database.state, unmarked: unmarked)
            return (statistics, database)
        }
        let folder = core.folder
        statistics.setAside = ((try? folder.databases()) ?? []).filter { $0 != database.number }.map {
            StoreStatistics.SetAside(name: StoreFolder.databaseName($0), bytes: folder.size(ofDatabase: $0))
        }
        statistics.databaseBytes = (try? FileStatus(path: database.path))?.size ?? 0
        statistics.logBytes = (try? FileStatus(path: database.path + "-wal"))?.size ?? 0
        statistics.budget = database.state.limits.budget
        statistics.invalidationSequence = core.lastInvalidation.number
        statistics.damagedReads = core.counters.damagedReads.load(ordering: .relaxed)
        statistics.lostDatabases = core.counters.lostDatabases.load(ordering: .relaxed)
        statistics.undecodableObjects = core.counters.undecodableObjects.load(ordering: .relaxed)
        statistics.evictedEntries = core.counters.evictedEntries.load(ordering: .relaxed)
        statistics.evictedBytes = core.counters.evictedBytes.load(ordering: .relaxed)
        statistics.databaseName = StoreFolder.databaseName(database.number)
        statistics.schemaVersion = Int(database.schemaVersion)
        statistics.isReadOnly = isReadOnly
        statistics.residentKeys = database.state.memory?.count ?? 0
        statistics.residentBytes = Int64(database.state.memory?.bytes ?? 0)
        statistics.memoryBudget = Int64(database.state.limits.memory)
        return statistics
    }
}

extension StoreStatistics {
    fileprivate mutating func count(_ connection: Connection, _ state: DatabaseState, at now: Timestamp) throws {
        // The statement stays open until counting ends, so that this check and the count see the
        // same snapshot.
        let pending = try connection.prepare("SELECT \(PendingInvalidation.hasSome(state))")
        defer { pending.reset() }
        let hasPending = try pending.step() && pending.flag(0)
        let horizon = state.horizon(at: now)
        let end =
            horizon == nil
            ? "expires_at"
            : "CASE WHEN expires_at < \(Int64.max) AND stored_at > ?6 THEN ?1 ELSE expires_at END AS expires_at"
        let statement = try connection.prepare(
            """
            SELECT kind, count(*), sum(size), sum(is_pinned), sum(is_marked), sum(is_marked OR expires_at <= ?1),
                sum(is_usable_stale = 1 AND (is_marked OR expires_at <= ?1)),
                sum(is_usable_stale = 1 AND NOT is_marked AND expires_at <= ?1)
            FROM (
                SELECT kind, size, is_pinned, is_usable_stale, expires_at, is_invalidated = 1 OR state > 0
                    OR sequence < CASE kind WHEN 0 THEN ?2 ELSE ?3 END AS is_marked
                FROM (
                    SELECT kind, size, is_pinned, is_usable_stale, \(end), is_invalidated, sequence,
                        \(hasPending ? PendingInvalidation.state(state) : "0") AS state
                    FROM entry \(hasPending ? "" : "INDEXED BY entry_by_expiry")
                    WHERE sequence >= CASE kind WHEN 0 THEN ?4 ELSE ?5 END
                )
                WHERE state < 4
            )
            GROUP BY kind
            """
        )
        statement.bind(1, now.milliseconds)
        statement.bind(2, state.responseLowWaterMark.load(ordering: .acquiring))
        statement.bind(3, state.objectLowWaterMark.load(ordering: .acquiring))
        statement.bind(4, state.removalLowWaterMark(.response))
        statement.bind(5, state.removalLowWaterMark(.object))
        if let horizon { statement.bind(6, horizon) }
        while try statement.step() {
            let count = Int(statement.integer(1))
            if statement.integer(0) == EntryKind.response.rawValue { responses = count } else { objects = count }
            storedBytes += statement.integer(2)
            pinned += Int(statement.integer(3))
            invalidated += Int(statement.integer(4))
            expired += Int(statement.integer(5))
            usableStale += Int(statement.integer(6))
            stale += Int(statement.integer(7))
        }
        statement.reset()
        unreferencedBodies = Int(try connection.integer("SELECT count(*) FROM garbage") ?? 0)
        freeBytes = (try connection.integer("PRAGMA freelist_count") ?? 0) * StoreLimits.pageSize
        let version = try connection.prepare("SELECT sqlite_version()")
        if try version.step() { sqliteVersion = version.text(0) }
        version.reset()
    }
}
