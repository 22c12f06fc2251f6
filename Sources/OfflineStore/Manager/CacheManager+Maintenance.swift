import HTTPCache
import HTTPCacheSemantics
import StoreFiles
import Synchronization

/// Removing expired entries, and removing everything.
extension CacheManager {
    /// Removes expired entries.
    ///
    /// By default this keeps entries that may be used when the network is unreachable: stale
    /// responses whose fields allow it, and expired objects. It removes stale or invalidated
    /// responses that must not be used without the origin. Pinned entries stay. Reading never
    /// removes anything; no other call removes entries because of their expiry.
    ///
    /// - Parameter includingOfflineUsable: whether to also remove offline copies.
    /// - Returns: the number of removed entries and their bytes. Their space is free when this
    ///   returns, except for bodies that are still being read.
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`. Entries that were removed
    ///   before the error stay removed.
    @concurrent
    @discardableResult
    public func removeExpired(includingOfflineUsable: Bool = false) async throws -> RemovalSummary {
        let now = now()
        if isReadOnly { throw core.readOnlyError }
        // Invalidations by tag or prefix must first be applied to the rows.
        try await settle()
        var summary = RemovalSummary()
        while true {
            let database = try core.database()
            let ids = try core.read(database) {
                try Self.expired($0, database.state, at: now, includingOfflineUsable: includingOfflineUsable)
            }
            if ids.isEmpty { break }
            var removed = 0
            for start in stride(from: 0, to: ids.count, by: Self.removalCount) {
                let batch = Array(ids[start..<min(start + Self.removalCount, ids.count)])
                let part = try await core.write(to: database) { context in
                    try context.removeExpired(batch, at: now, includingOfflineUsable: includingOfflineUsable)
                }
                if part.objects > 0 { core.objectChanges.publish(.any) }
                removed += part.responses + part.objects
                summary = summary + part
            }
            // All of them were freshened or removed in the meantime.
            if removed == 0 { break }
        }
        try await settle()
        return summary
    }

    /// Removes everything: responses and objects, including pinned ones.
    ///
    /// Responses that are currently being fetched are not stored either.
    ///
    /// The removal is durable when this returns: it survives a power failure. The space is free,
    /// except for bodies that are still being read.
    ///
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`.
    @concurrent
    public func removeAll() async throws {
        let now = now()
        try await core.write(isDurable: true) { try $0.removeEverything(at: now) }
        core.changes.publish(StoreChange(.invalidated, .all))
        try await settle()
    }

    /// Waits until the store's pending housekeeping is done.
    package func settle() async throws {
        await (try core.database()).writer?.settle()
    }

    private static let removalCount = 256
    private static let scanCount: Int64 = 10_000

    /// Returns the SQL condition that an expired entry meets. The low-water marks are bound
    /// parameters, because they are in a row of another table.
    ///
    /// - Parameter isClockBehind: whether to include entries stored while the clock was ahead,
    ///   which the index does not cover.
    static func expiredCondition(isClockBehind: Bool) -> String {
        "is_usable_stale <= ?1 AND is_pinned = 0 AND (expires_at <= ?2 OR is_invalidated = 1 "
            + "OR (kind = 0 AND sequence < ?3) OR (kind = 1 AND sequence < ?4)"
            + (isClockBehind ? " OR (expires_at < \(Int64.max) AND stored_at > ?6))" : ")")
    }

    private static func expired(
        _ connection: Connection,
        _ state: DatabaseState,
        at now: Timestamp,
        includingOfflineUsable: Bool
    ) throws -> [Int64] {
        let horizon = state.horizon(at: now)
        let condition = expiredCondition(isClockBehind: horizon != nil)
        let statement = try connection.prepare(
            "SELECT id FROM entry INDEXED BY entry_by_expiry WHERE \(condition) LIMIT ?5"
        )
        defer { statement.reset() }
        state.bindExpiry(to: statement, at: now, horizon, includingOfflineUsable: includingOfflineUsable)
        statement.bind(5, scanCount)
        var ids: [Int64] = []
        while try statement.step() { ids.append(statement.integer(0)) }
        return ids
    }
}

extension DatabaseState {
    fileprivate func bindExpiry(
        to statement: SQLStatement,
        at now: Timestamp,
        _ horizon: Int64?,
        includingOfflineUsable: Bool
    ) {
        statement.bind(1, includingOfflineUsable)
        statement.bind(2, now.milliseconds)
        statement.bind(3, responseLowWaterMark.load(ordering: .acquiring))
        statement.bind(4, objectLowWaterMark.load(ordering: .acquiring))
        if let horizon { statement.bind(6, horizon) }
    }
}

extension WriteContext {
    /// Removes those of the given entries that still exist and are still expired.
    fileprivate func removeExpired(
        _ ids: [Int64],
        at now: Timestamp,
        includingOfflineUsable: Bool
    ) throws -> RemovalSummary {
        var summary = RemovalSummary()
        let horizon = state.horizon(at: now)
        let statement = try connection.prepare(
            """
            SELECT id, body_id, body_length, kind, size, sequence, \(PendingInvalidation.state)
            FROM entry WHERE \(CacheManager.expiredCondition(isClockBehind: horizon != nil)) AND id = ?5
            """
        )
        for id in ids {
            state.bindExpiry(to: statement, at: now, horizon, includingOfflineUsable: includingOfflineUsable)
            statement.bind(5, id)
            guard try statement.step() else {
                statement.reset()
                continue
            }
            let place = EntryRows(statement)
            let kind = EntryKind(rawValue: statement.integer(3)) ?? .response
            // An entry that an invalidation already removed is deleted here but not counted.
            if exists(kind, sequence: statement.integer(5), pending: statement.integer(6)) {
                switch kind {
                case .response: summary.responses += 1
                case .object: summary.objects += 1
                }
                summary.bytes += statement.integer(4)
            }
            statement.reset()
            try remove(place)
        }
        return summary
    }

    func countResponses(of key: StoreKey) throws -> Int {
        let statement = try connection.prepare(
            "SELECT key, sequence, \(PendingInvalidation.state) FROM entry WHERE key_hash = ?1 AND kind = 0"
        )
        defer { statement.reset() }
        statement.bind(1, state.hash(key.bytes, .responseKey))
        var count = 0
        while try statement.step() {
            guard exists(.response, sequence: statement.integer(1), pending: statement.integer(2)) else { continue }
            if statement.withBytes(0, { $0.elementsEqual(key.bytes) }) { count += 1 }
        }
        return count
    }
}

extension CacheManager {
    /// The time between two calls of ``checkFiles()``.
    package static let fileCheckInterval = Duration.seconds(5)

    /// Notices that the store's folder or database was deleted or replaced, reports it, and makes a
    /// deleted store anew.
    @concurrent
    package func checkFiles() async { core.checkFiles() }

    /// Sets the live database aside, as if SQLite had reported damage. For tests only.
    package func setAsideForTesting() throws {
        let database = try core.database()
        core.setAside(database, because: StoreError(code: .damaged, message: "set aside by a test"))
    }
}
