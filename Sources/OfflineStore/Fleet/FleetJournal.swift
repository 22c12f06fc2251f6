package import HTTPCache
package import HTTPCacheSemantics

/// A store's state in a fleet log, as recorded on disk.
package struct FleetJournal: Sendable, Hashable {
    /// A journaled invalidation that the log has not confirmed.
    package struct Entry: Sendable, Hashable {
        package var invalidation: FleetInvalidation
        /// The invalidation's position in the log; `nil` if it is waiting to be published.
        package var position: LogPosition?
    }

    /// The maximum number of entries listed of each kind.
    package static let limit = 1000

    /// The name of the fleet log.
    package var name: String
    /// The store's name among the nodes.
    package var node: PurgeID
    /// The position up to which the log has been read.
    package var cursor: LogCursor
    /// The number of the last invalidation in this store.
    package var sequence: Int64
    /// Responses stored before the invalidation with this number are validated before use.
    package var lowWaterMark: Int64
    /// The number of invalidations waiting to be published.
    package var unpublishedCount = 0
    /// The number of published invalidations that the log has not confirmed.
    package var unsettledCount = 0
    /// The number of invalidations that the log has confirmed. They are dropped soon.
    package var settledCount = 0
    /// When the log last confirmed an invalidation that is still in the journal; `nil` if the
    /// journal has no confirmed invalidation.
    package var settledAt: Timestamp?
    /// The first invalidations waiting to be published, in order.
    package var unpublished: [Entry] = []
    /// The first invalidations that the log has not confirmed, in the log's order.
    package var unsettled: [Entry] = []
}

extension CacheManager {
    /// Returns a store's state in a fleet log; `nil` if the store never joined a fleet log.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    package func fleetJournal() async throws -> FleetJournal? {
        try core.read { connection, database in
            // The first schema version has no such tables.
            guard try connection.integer("PRAGMA user_version") ?? 0 >= Self.fleetSchemaVersion else { return nil }
            // All of these reads use one snapshot.
            let snapshot = try connection.prepare("SELECT count(*) FROM shared_log")
            defer { snapshot.reset() }
            guard try snapshot.step(), snapshot.integer(0) > 0 else { return nil }
            return try connection.fleetJournal()
        }
    }

    /// The first schema with a journal.
    private static let fleetSchemaVersion: Int64 = 5
}

extension Connection {
    fileprivate func fleetJournal() throws -> FleetJournal? {
        let row = try prepare("SELECT name, node, epoch, number FROM shared_log")
        defer { row.reset() }
        guard try row.step(), let node = PurgeID(row.bytes(1)) else { return nil }
        var cursor = LogCursor(position: position(row, 2))
        let epochs = try prepare("SELECT epoch, last FROM shared_epoch")
        defer { epochs.reset() }
        while try epochs.step() {
            cursor.epochs[UInt64(bitPattern: epochs.integer(0))] = UInt64(bitPattern: epochs.integer(1))
        }
        var journal = FleetJournal(
            name: row.text(0),
            node: node,
            cursor: cursor,
            sequence: try integer("SELECT sequence FROM store WHERE id = 1") ?? 0,
            lowWaterMark: try integer("SELECT response_floor FROM store WHERE id = 1") ?? 0
        )
        let counts = try prepare(
            "SELECT epoch IS NULL, settled_at IS NULL, count(*), max(settled_at) FROM shared_invalidation GROUP BY 1, 2"
        )
        defer { counts.reset() }
        while try counts.step() {
            let count = Int(counts.integer(2))
            switch (counts.flag(0), counts.flag(1)) {
            case (true, _): journal.unpublishedCount += count
            case (false, true): journal.unsettledCount = count
            case (false, false):
                journal.settledCount = count
                journal.settledAt = Timestamp(milliseconds: counts.integer(3))
            }
        }
        journal.unpublished = try entries("epoch IS NULL ORDER BY id")
        journal.unsettled = try entries("epoch IS NOT NULL AND settled_at IS NULL ORDER BY epoch, number")
        return journal
    }

    private func position(_ row: SQLStatement, _ column: Int32) -> LogPosition {
        LogPosition(
            epoch: UInt64(bitPattern: row.integer(column)),
            number: UInt64(bitPattern: row.integer(column + 1))
        )
    }

    private func entries(_ condition: String) throws -> [FleetJournal.Entry] {
        let statement = try prepare(
            """
            SELECT name, kind, selector, effect, issued_at, epoch IS NULL, epoch, number FROM shared_invalidation
            WHERE \(condition) LIMIT \(FleetJournal.limit)
            """
        )
        defer { statement.reset() }
        var entries: [FleetJournal.Entry] = []
        while try statement.step() {
            let position = statement.flag(5) ? nil : position(statement, 6)
            entries.append(FleetJournal.Entry(invalidation: try journaledInvalidation(statement), position: position))
        }
        return entries
    }
}
