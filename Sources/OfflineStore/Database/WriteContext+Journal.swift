import HTTPCache
import HTTPCacheSemantics

/// The journal of invalidations that several nodes share: see ``InvalidationLog``.
extension WriteContext {
    /// The maximum number of invalidations waiting to be published. If there are more, a single
    /// invalidation that marks everything replaces them.
    static let waitingLimit = 10_000
    /// The maximum number of invalidations in the journal. If there are more, the oldest published
    /// ones are dropped.
    static let journalLimit: Int64 = 200_000
    /// The number of invalidations between two checks of these limits.
    private static let looks: Int64 = 256

    /// Journals an invalidation that a caller requested. Call this in the transaction that puts the
    /// invalidation into effect.
    func journal(_ scope: InvalidationScope, _ effect: InvalidationEffect, at now: Timestamp) throws {
        guard memory.isInFleet else { return }
        let id = try insert(FleetInvalidation(id: .random(), scope: scope, effect: effect, issuedAt: now), at: nil)
        guard id % Self.looks == 0 else { return }
        if try connection.waitingCount() >= Self.waitingLimit {
            try connection.run("DELETE FROM shared_invalidation WHERE epoch IS NULL")
            try journalEverything(at: now)
        }
    }

    /// Journals an invalidation that makes other nodes mark everything. This store's entries are
    /// not marked.
    func journalEverything(at now: Timestamp) throws {
        let everything = FleetInvalidation(id: .random(), scope: .all, effect: .mark(.unspecified), issuedAt: now)
        _ = try insert(everything, at: nil)
    }

    /// - Returns: the row's number.
    private func insert(_ invalidation: FleetInvalidation, at position: LogPosition?) throws -> Int64 {
        let selector = ScopeSelector(invalidation.scope)
        let statement = try connection.prepare(
            """
            INSERT INTO shared_invalidation (name, kind, selector, effect, issued_at, epoch, number)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING id
            """
        )
        defer { statement.reset() }
        statement.bind(1, invalidation.id.bytes)
        statement.bind(2, Int64(selector.kind.rawValue))
        statement.bind(3, selector.bytes)
        statement.bind(4, Int64(invalidation.effect.number))
        statement.bind(5, invalidation.issuedAt.milliseconds)
        statement.bind(6, position.map { Int64(bitPattern: $0.epoch) })
        statement.bind(7, position.map { Int64(bitPattern: $0.number) })
        guard try statement.step() else { throw Self.missingRow }
        if position == nil { addsToJournal = true }
        let id = statement.integer(0)
        // The row exists only after the statement's last step.
        while try statement.step() {}
        return id
    }

    /// Puts another node's invalidation into effect, unless it is known.
    ///
    /// - Returns: whether it was new.
    func apply(_ invalidation: FleetInvalidation, at position: LogPosition, now: Timestamp) throws -> Bool {
        if try notePosition(position, of: invalidation.id) { return false }
        let id = try insert(invalidation, at: position)
        for (scope, effect) in invalidation.parts {
            do {
                _ = try invalidate(scope, effect, at: now)
            } catch let error as StoreError where error.code == .busy {
                // Too many removals are unfinished. Reading the log must not wait for them, so the
                // responses are marked instead.
                _ = try invalidate(scope, .mark(.unspecified), at: now)
            }
        }
        if id % Self.looks == 0 { try shortenJournal() }
        return true
    }

    /// Records the position of a journaled invalidation. Of two positions, the later one counts.
    ///
    /// - Returns: whether the invalidation is in the journal.
    @discardableResult
    func notePosition(_ position: LogPosition, of id: PurgeID) throws -> Bool {
        let statement = try connection.prepare(
            """
            UPDATE shared_invalidation SET
                settled_at = CASE WHEN epoch IS NULL OR (epoch, number) < (?2, ?3) THEN NULL ELSE settled_at END,
                number = CASE WHEN epoch IS NULL OR (epoch, number) < (?2, ?3) THEN ?3 ELSE number END,
                epoch = max(ifnull(epoch, 0), ?2)
            WHERE name = ?1
            """
        )
        statement.bind(1, id.bytes)
        statement.bind(2, Int64(bitPattern: position.epoch))
        statement.bind(3, Int64(bitPattern: position.number))
        try statement.run()
        return connection.changes > 0
    }

    /// Queues journaled invalidations that the log has lost for publication.
    func republish(after: LogPosition, before: LogPosition?) throws {
        let before = before ?? LogPosition(epoch: UInt64(Int64.max), number: UInt64(Int64.max))
        try connection.run(
            """
            UPDATE shared_invalidation SET epoch = NULL, number = NULL, settled_at = NULL
            WHERE (epoch, number) > (?1, ?2) AND (epoch, number) < (?3, ?4)
            """,
            Int64(bitPattern: after.epoch),
            Int64(bitPattern: after.number),
            Int64(bitPattern: before.epoch),
            Int64(bitPattern: before.number)
        )
        addsToJournal = true
    }

    private func shortenJournal() throws {
        let count = try connection.integer("SELECT count(*) FROM shared_invalidation") ?? 0
        guard count > Self.journalLimit else { return }
        try connection.run(
            """
            DELETE FROM shared_invalidation WHERE id IN
                (SELECT id FROM shared_invalidation WHERE epoch IS NOT NULL ORDER BY epoch, number LIMIT ?1)
            """,
            count - Self.journalLimit * 9 / 10
        )
    }

    // MARK: The place

    /// Joins the log with this name; if the store has already joined it, continues with the
    /// journal.
    ///
    /// - Parameters:
    ///   - node: the store's name among the nodes.
    ///   - lacksInvalidations: whether this store may have made invalidations that are not in the
    ///     journal. If so, the other nodes mark everything.
    func join(_ name: String, as node: PurgeID, lacksInvalidations: Bool, at now: Timestamp) throws -> LogStart {
        let statement = try connection.prepare("SELECT name FROM shared_log")
        let isKnown = try statement.step() && statement.bytes(0) == Array(name.utf8)
        statement.reset()
        if isKnown {
            try setNode(node)
        } else {
            for table in ["shared_log", "shared_epoch", "shared_invalidation"] {
                try connection.run("DELETE FROM \(table)")
            }
            let insertion = try connection.prepare(
                "INSERT INTO shared_log (id, name, node, epoch, number) VALUES (1, CAST(?1 AS TEXT), ?2, 0, 0)"
            )
            insertion.bind(1, Array(name.utf8))
            insertion.bind(2, node.bytes)
            try insertion.run()
            if lacksInvalidations { try journalEverything(at: now) }
        }
        memory.isInFleet = true
        return try place()
    }

    func setNode(_ node: PurgeID) throws {
        let statement = try connection.prepare("UPDATE shared_log SET node = ?1")
        statement.bind(1, node.bytes)
        try statement.run()
    }

    /// Returns the store's position in the fleet log.
    private func place() throws -> LogStart {
        let row = try connection.prepare("SELECT node, epoch, number FROM shared_log")
        defer { row.reset() }
        guard try row.step(), let node = PurgeID(row.bytes(0)) else { throw Self.missingRow }
        let (epoch, number) = (UInt64(bitPattern: row.integer(1)), UInt64(bitPattern: row.integer(2)))
        var cursor = LogCursor(position: LogPosition(epoch: epoch, number: number))
        let epochs = try connection.prepare("SELECT epoch, last FROM shared_epoch")
        defer { epochs.reset() }
        while try epochs.step() {
            cursor.epochs[UInt64(bitPattern: epochs.integer(0))] = UInt64(bitPattern: epochs.integer(1))
        }
        return LogStart(node: node, cursor: cursor, unpublished: try connection.waitingCount())
    }

    /// Records the position up to which the log has been read.
    func move(to cursor: LogCursor) throws {
        let statement = try connection.prepare("UPDATE shared_log SET epoch = ?1, number = ?2")
        statement.bind(1, Int64(bitPattern: cursor.position.epoch))
        statement.bind(2, Int64(bitPattern: cursor.position.number))
        try statement.run()
        try connection.run("DELETE FROM shared_epoch")
        for (epoch, last) in cursor.epochs {
            try connection.run(
                "INSERT INTO shared_epoch (epoch, last) VALUES (?1, ?2)",
                Int64(bitPattern: epoch),
                Int64(bitPattern: last)
            )
        }
    }

    // MARK: The end

    func settle(through position: LogPosition, at now: Timestamp, forgetting earlier: Timestamp) throws {
        try connection.run(
            """
            UPDATE shared_invalidation SET settled_at = ?1
            WHERE settled_at IS NULL AND epoch IS NOT NULL AND (epoch, number) <= (?2, ?3)
            """,
            now.milliseconds,
            Int64(bitPattern: position.epoch),
            Int64(bitPattern: position.number)
        )
        try connection.run("DELETE FROM shared_invalidation WHERE settled_at <= ?1", earlier.milliseconds)
    }
}
