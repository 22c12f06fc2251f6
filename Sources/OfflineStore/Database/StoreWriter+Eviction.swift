import GRDBSQLite
import HTTPCacheSemantics
import Logging
import Synchronization

/// An entry that goes to make room.
struct EvictionVictim {
    var place: EntryPlace
    var size: Int64

    /// The columns of one.
    static let columns = "id, body_id, body_length, size"

    init(_ statement: SQLStatement) {
        place = EntryPlace(statement)
        size = statement.integer(3)
    }
}

/// Eviction: what is stored gives way to what comes, and the folder stays within its budget.
extension StoreWriter {
    /// Bytes that one transaction evicts at most.
    static let evictionBytes: Int64 = 16 << 20

    /// What the folder takes, in bytes.
    struct Usage {
        var live: Int64
        var free: Int64
        var log: Int64
        /// Bodies that are no longer stored but still being read; a part of what is live.
        var held: Int64
        /// What counts against the budget: the log counts at its largest, and free pages not at
        /// all, because they are used before the file grows.
        var total: Int64
        /// The total, without what others do not make room for.
        ///
        /// Bodies that are held by their readers are nothing that eviction could reach. Up to a
        /// quarter of the budget, stored entries go in their place; beyond that they stay, and new
        /// ones have to wait. So slow readers of large bodies that are replaced again and again
        /// cannot empty a store, and the budget holds.
        var reachable: Int64
    }

    func usage(_ connection: Connection) throws -> Usage {
        let limits = database.limits
        let pages = try connection.integer("PRAGMA page_count") ?? 0
        let free = try connection.integer("PRAGMA freelist_count") ?? 0
        let log = (try? FileStatus(path: path + "-wal"))?.size ?? 0
        let live = (pages - free) * StoreLimits.pageSize
        let held = database.leases.heldBytes
        let total = live + max(log, limits.log) + StoreLimits.fixedFiles
        memory.usageEstimate = total
        return Usage(
            live: live,
            free: free * StoreLimits.pageSize,
            log: log,
            held: held,
            total: total,
            reachable: total - max(0, held - limits.held)
        )
    }

    // MARK: Before a transaction

    /// Evicts until what some operations bring fits the budget, so that the budget holds at every
    /// moment.
    ///
    /// - Returns: the operations there is room for; the others have failed. Those that bring
    ///   nothing (an invalidation, say) always go on.
    func makeRoom(for batch: [WriteJob], _ connection: Connection) -> [WriteJob] {
        let bytes = batch.reduce(0) { $0 + $1.bytes }
        guard bytes > 0, let shortage = makeRoom(for: Self.bytesOnDisk(bytes), connection) else { return batch }
        var room = shortage.room
        return batch.filter { job in
            let incoming = Self.bytesOnDisk(job.bytes)
            guard job.bytes > 0, incoming > room else {
                room -= incoming
                return true
            }
            job.fail(shortage.error)
            return false
        }
    }

    /// What bytes come to with the pages around them, about.
    private static func bytesOnDisk(_ bytes: Int) -> Int64 { Int64(bytes) * 9 / 8 }

    /// - Returns: `nil` when there is room, else how much there is, and why not more.
    private func makeRoom(for incoming: Int64, _ connection: Connection) -> (room: Int64, error: StoreError)? {
        let limits = database.limits
        do {
            while true {
                let usage = try usage(connection)
                let room = limits.budget - usage.total
                // The log of a reader that does not end is not for filling the whole budget.
                let logRoom = limits.heldLog - usage.log
                if room >= incoming, logRoom >= incoming { return nil }
                if try isLogHeld(usage, connection) { return (min(room, logRoom), heldLogError(usage)) }
                if room >= incoming { return nil }
                guard usage.reachable + incoming > limits.budget else { return (room, heldBodiesError(usage)) }
                guard try removePending(connection) || evict(max(incoming, 1 << 20), connection) else {
                    return (room, nothingToEvictError)
                }
                while memory.wantsSweep { try sweep(connection) }
                try checkpoint(connection, truncating: true)
            }
        } catch {
            setBack(error)
            // Whatever it is, the transaction will find out for itself.
            return nil
        }
    }

    private func heldLogError(_ usage: Usage) -> StoreError {
        StoreError(
            code: .busy,
            message:
                "Nothing more is stored in '\(path)' now: another process reads it in a transaction that does not end, "
                + "which keeps the log of \(usage.log) bytes from being used anew. End that reader, then try again."
        )
    }

    private func heldBodiesError(_ usage: Usage) -> StoreError {
        StoreError(
            code: .busy,
            message:
                "Nothing more is stored in '\(path)' now: \(usage.held) bytes of its budget of \(database.limits.budget) "
                + "are bodies that were replaced or removed and are still being read. Try again later, or raise 'budget'."
        )
    }

    private var nothingToEvictError: StoreError {
        StoreError(
            code: .full,
            message:
                "Nothing more is stored in '\(path)': what is pinned, or being read or written now, takes its whole "
                + "budget of \(database.limits.budget) bytes. Unpin some entries, or raise 'budget'."
        )
    }

    /// Whether a reader that does not end keeps the log from being used anew, so that it grows with
    /// every write.
    ///
    /// Evicting would not help, it writes to the log itself; what is stored stays, and what passes
    /// is declined until the reader ends.
    func isLogHeld(_ usage: Usage, _ connection: Connection) throws -> Bool {
        var isHeld = usage.log > database.limits.log
        let wasHeld = logIsHeld.load(ordering: .relaxed)
        if isHeld {
            // The first time those who are just reading are waited for; from then on it is known
            // that one does not end.
            try checkpoint(connection, truncating: true, isPatient: !wasHeld)
            isHeld = try self.usage(connection).log > database.limits.log
        }
        logIsHeld.store(isHeld, ordering: .relaxed)
        if isHeld, !wasHeld {
            logger.warning(
                "another process reads without end and keeps the log from shrinking; nothing more is stored until it ends",
                metadata: ["store.path": "\(path)", "store.log.bytes": "\(usage.log)"]
            )
        }
        return isHeld
    }

    // MARK: Who goes

    /// Removes what is first in line and not pinned; `false` when there is nothing.
    func evict(_ excess: Int64, _ connection: Connection) throws -> Bool {
        var used: [(id: Int64, recency: Int64)] = []
        let count: Int
        defer { database.recency.endTaking() }
        do {
            count = try evict(connection) {
                let excess = min(excess, Self.evictionBytes)
                // As long as a body is read its room is not to be had; but rather its entry goes
                // than nothing.
                var line = try firstInLine(worth: excess, areLeased: false, connection)
                if line.victims.isEmpty, line.used.isEmpty {
                    line = try firstInLine(worth: excess, areLeased: true, connection)
                }
                used = line.used
                for (id, recency) in used {
                    try connection.run(
                        "UPDATE entry SET recency = ?2, last_used_at = max(last_used_at, ?3) WHERE id = ?1",
                        id,
                        recency,
                        database.latestInstant
                    )
                }
                return line.victims
            }
        } catch {
            database.recency.putBack(Dictionary(uniqueKeysWithValues: used.map { ($0.id, $0.recency) }))
            throw error
        }
        return count > 0 || !used.isEmpty
    }

    /// Removes entries in a transaction.
    ///
    /// - Returns: how many.
    func evict(_ connection: Connection, choosing victims: () throws -> [EvictionVictim]) throws -> Int {
        let context = WriteContext(connection: connection, state: database, memory: memory)
        var chosen: [EvictionVictim] = []
        do {
            try transaction(connection) {
                chosen = try victims()
                for victim in chosen { try context.remove(victim.place) }
                try context.writeTagBytes()
            }
        } catch {
            context.rolledBack()
            throw error
        }
        context.committed()
        if !chosen.isEmpty {
            let bytes = chosen.reduce(0) { $0 + $1.size }
            events.evicted(chosen.count, bytes)
            logger.debug(
                "evicted",
                metadata: ["store.path": "\(path)", "store.entries": "\(chosen.count)", "store.bytes": "\(bytes)"]
            )
        }
        return chosen.count
    }

    /// How many rows go with an entry, each on a page of its own at worst: all of them go to the
    /// log.
    func rowsRemoved(with victim: EvictionVictim, _ connection: Connection) throws -> Int {
        guard database.usesTags.load(ordering: .acquiring) else { return 1 }
        let tags = try connection.integer("SELECT count(*) FROM entry_tag WHERE entry_id = ?1", victim.place.id)
        return 1 + Int(tags ?? 0)
    }

    /// Those who stand first in line on the disk: the ones that go, and the ones that were used
    /// since and go to its end.
    private struct Line {
        var victims: [EvictionVictim] = []
        var used: [(id: Int64, recency: Int64)] = []
    }

    /// Those of the last to expire that were stored ahead of the clock and cannot be used offline.
    private static let storedAhead = """
        WHERE stored_at > ?1 AND id IN (
            SELECT id FROM entry INDEXED BY entry_by_expiry
            WHERE is_usable_stale = 0 AND is_pinned = 0 AND expires_at < \(Int64.max) ORDER BY expires_at DESC LIMIT 1024
        )
        """

    /// As many as come to some bytes or as one transaction takes.
    private func firstInLine(worth excess: Int64, areLeased: Bool, _ connection: Connection) throws -> Line {
        var line = Line()
        var freed: Int64 = 0
        var rows = 0
        var ahead: Set<Int64> = []
        func take(_ condition: String, byRecency: Bool, horizon: Int64? = nil) throws {
            let statement = try connection.prepare("SELECT \(EvictionVictim.columns) FROM entry \(condition)")
            defer { statement.reset() }
            if let horizon { statement.bind(1, horizon) }
            // Without a limit in the statement: it is stepped as far as needed, past what cannot
            // go.
            while freed < excess, rows < database.limits.batch, try statement.step() {
                let victim = EvictionVictim(statement)
                if database.leases.isLeased(victim.place.bodyID) != areLeased { continue }
                if horizon == nil, ahead.contains(victim.place.id) { continue }
                // What the disk calls old may have been used a moment ago.
                if byRecency, let recency = database.recency.take(victim.place.id) {
                    line.used.append((victim.place.id, recency))
                    rows += 1
                } else {
                    rows += try rowsRemoved(with: victim, connection)
                    line.victims.append(victim)
                    freed += victim.size
                    if horizon != nil { ahead.insert(victim.place.id) }
                }
            }
        }
        switch database.limits.evictionOrder {
        case .leastRecentlyUsed:
            try take("INDEXED BY entry_by_recency WHERE is_pinned = 0 ORDER BY recency", byRecency: true)
        case .keepingOfflineCopies:
            // What was stored while the clock was ahead would be last in this order, and is of no
            // use.
            if let horizon = database.horizon(at: Timestamp(milliseconds: database.latestInstant)) {
                try take(Self.storedAhead, byRecency: false, horizon: horizon)
            }
            try take(
                "INDEXED BY entry_by_expiry WHERE is_usable_stale = 0 AND is_pinned = 0 ORDER BY expires_at",
                byRecency: false
            )
            try take(
                "INDEXED BY entry_by_recency WHERE is_pinned = 0 AND is_usable_stale = 1 ORDER BY recency",
                byRecency: true
            )
        }
        return line
    }
}
