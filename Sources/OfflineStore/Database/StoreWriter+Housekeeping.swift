import GRDBSQLite
import Logging
import Synchronization

/// Eviction, sweeping, giving pages back, checkpoints: each in bounded steps between transactions.
extension StoreWriter {
    /// Chunks in one step of the sweep: 4 MiB.
    private static let sweepCount: Int64 = 64
    /// Pages given back in one step.
    private static let vacuumPages: Int64 = 512

    /// What the folder takes, in octets.
    struct Usage {
        var live: Int64
        var free: Int64
        var log: Int64
        /// What counts against the budget: the log counts at its largest, and free pages not at all, because they are used
        /// before the file grows.
        var total: Int64
    }

    func usage(_ connection: Connection) throws -> Usage {
        let pages = try connection.integer("PRAGMA page_count") ?? 0
        let free = try connection.integer("PRAGMA freelist_count") ?? 0
        let log = (try? FileStatus(path: path + "-wal"))?.size ?? 0
        let live = (pages - free) * StoreLimits.pageSize
        let total = live + max(log, database.limits.log) + StoreLimits.fixedFiles
        return Usage(live: live, free: free * StoreLimits.pageSize, log: log, total: total)
    }

    /// Before a transaction: evicts until what it brings fits the budget, so that the budget holds at every moment.
    func makeRoom(for bytes: Int, _ connection: Connection) {
        let incoming = Int64(bytes) * 9 / 8
        do {
            while true {
                let usage = try usage(connection)
                guard usage.total + incoming > database.limits.budget else { break }
                if try isLogHeld(usage, connection) { break }
                guard try evict(max(incoming, 1 << 20), connection) else { break }
                while memory.wantsSweep { try sweep(connection) }
                try checkpoint(connection, truncating: true)
            }
        } catch {
            setBack(error)
        }
    }

    /// Whether a reader that does not end keeps the log from being used anew, so that it grows with every write.
    ///
    /// Evicting would not help, it writes to the log itself; what is stored stays, and what passes is declined until the reader ends.
    private func isLogHeld(_ usage: Usage, _ connection: Connection) throws -> Bool {
        var isHeld = usage.log > database.limits.log
        if isHeld {
            try checkpoint(connection, truncating: true, isPatient: false)
            isHeld = try self.usage(connection).log > database.limits.log
        }
        if isHeld, !logIsHeld.exchange(isHeld, ordering: .relaxed) {
            logger.warning(
                "another process reads without end and keeps the log from shrinking; nothing more is stored until it ends",
                metadata: ["store.path": "\(path)", "store.log.bytes": "\(usage.log)"]
            )
        } else {
            logIsHeld.store(isHeld, ordering: .relaxed)
        }
        return isHeld
    }

    /// One step of everything that is due; `true` when there is more to do.
    func keepHouse(_ connection: Connection) -> Bool {
        if memory.wantsDamageMarks { markDamage(connection) }
        do {
            // Marking writes to the log, which does not shrink while it is held; what is pending is in force all the same.
            if memory.wantsTagSweep, !logIsHeld.load(ordering: .relaxed) { try sweepTags(connection) }
            if memory.wantsSweep { try sweep(connection) }
            let usage = try usage(connection)
            if usage.total > database.limits.highWater { memory.isEvicting = true }
            if memory.isEvicting || logIsHeld.load(ordering: .relaxed), try isLogHeld(usage, connection) {
                memory.isEvicting = false
                return memory.wantsSweep
            }
            if memory.isEvicting {
                if usage.total <= database.limits.lowWater {
                    memory.isEvicting = false
                } else if try evict(usage.total - database.limits.lowWater, connection) {
                    while memory.wantsSweep { try sweep(connection) }
                } else {
                    memory.isEvicting = false
                }
                if usage.log > database.limits.checkpoint { memory.wantsCheckpoint = true }
            }
            // Free pages are kept for what comes next, unless they are many or the file is too long.
            let isTooLong = usage.total + usage.free > database.limits.budget && usage.free > 0
            if !memory.isEvicting, isTooLong || usage.free > max(256 * StoreLimits.pageSize, usage.live / 8) {
                memory.wantsVacuum = true
            }
            if memory.wantsVacuum { try vacuum(connection) }
            let written = memory.pagesSinceCheckpoint * StoreLimits.pageSize
            if memory.wantsCheckpoint || written >= database.limits.checkpoint {
                try checkpoint(
                    connection,
                    truncating: memory.wantsCheckpoint || usage.log > 2 * database.limits.checkpoint
                )
            }
            try eraseLog(connection)
        } catch {
            setBack(error)
        }
        return memory.wantsSweep || memory.isEvicting || memory.wantsVacuum
            || (memory.wantsTagSweep && !logIsHeld.load(ordering: .relaxed))
    }

    /// Housekeeping failed: it is tried again when there is a reason to, and not in a loop.
    private func setBack(_ error: any Error) {
        memory.wantsSweep = false
        memory.wantsTagSweep = false
        memory.isEvicting = false
        memory.wantsVacuum = false
        memory.wantsCheckpoint = false
        logger.debug("housekeeping failed", metadata: ["store.path": "\(path)", "error": "\(error)"])
        reportIfDamage(error)
    }

    /// Removes the least recently used entries that are not pinned; `false` when there are none.
    private func evict(_ excess: Int64, _ connection: Connection) throws -> Bool {
        var evicted = 0
        let used = database.recency.take()
        let context = WriteContext(connection: connection, state: database, memory: memory)
        do {
            try transaction(connection) {
                try flush(used, connection)
                var victims: [EntryPlace] = []
                var freed: Int64 = 0
                let statement = try connection.prepare(
                    "SELECT id, body_id, body_length, size FROM entry WHERE is_pinned = 0 ORDER BY recency LIMIT ?1"
                )
                statement.bind(1, Int64(database.limits.batch))
                while freed < excess, freed < 16 << 20, try statement.step() {
                    victims.append(EntryPlace(statement))
                    freed += statement.integer(3)
                }
                statement.reset()
                for victim in victims { try context.remove(victim) }
                evicted = victims.count
            }
        } catch {
            database.recency.putBack(used)
            context.rolledBack()
            throw error
        }
        context.committed()
        if evicted > 0 {
            logger.debug("evicted", metadata: ["store.path": "\(path)", "store.entries": "\(evicted)"])
        }
        return evicted > 0
    }

    /// Applies unfinished invalidations of tags to as many entries as one transaction takes.
    private func sweepTags(_ connection: Connection) throws {
        let context = WriteContext(connection: connection, state: database, memory: memory)
        var isDone = false
        do {
            try transaction(connection) { isDone = try context.sweepTags(atMost: Int64(database.limits.batch)) }
        } catch {
            context.rolledBack()
            memory.tagCursor = .min
            throw error
        }
        context.committed()
        memory.wantsTagSweep = !isDone
    }

    /// Removes some chunks of bodies that no entry names and nobody reads.
    private func sweep(_ connection: Connection) throws {
        let context = WriteContext(connection: connection, state: database, memory: memory)
        var cursor = memory.sweepCursor
        var isDone = false
        do {
            try transaction(connection) {
                var room = Self.sweepCount
                while room > 0 {
                    guard
                        let bodyID = try connection.integer(
                            "SELECT body_id FROM garbage WHERE body_id > ?1 ORDER BY body_id LIMIT 1",
                            cursor
                        )
                    else {
                        isDone = true
                        break
                    }
                    guard context.claim(bodyID) else {
                        cursor = bodyID
                        continue
                    }
                    try connection.run(
                        "DELETE FROM chunk WHERE id IN (SELECT id FROM chunk WHERE id BETWEEN ?1 AND ?2 LIMIT ?3)",
                        bodyID << 16,
                        bodyID << 16 | 0xffff,
                        room
                    )
                    let removed = Int64(connection.changes)
                    if removed < room {
                        try connection.run("DELETE FROM garbage WHERE body_id = ?1", bodyID)
                        cursor = bodyID
                    }
                    room -= max(1, removed)
                }
            }
        } catch {
            context.rolledBack()
            throw error
        }
        context.committed()
        memory.sweepCursor = isDone ? 0 : cursor
        memory.wantsSweep = !isDone
    }

    /// Gives free pages back to the file system.
    private func vacuum(_ connection: Connection) throws {
        let before = try connection.integer("PRAGMA freelist_count") ?? 0
        let statement = try connection.prepare("PRAGMA incremental_vacuum(\(Self.vacuumPages))")
        try statement.run()
        let after = try connection.integer("PRAGMA freelist_count") ?? 0
        if after == 0 || after >= before {
            memory.wantsVacuum = false
            // The file itself becomes shorter with the checkpoint.
            memory.wantsCheckpoint = true
        }
    }

    /// Copies the log into the database; truncating, it leaves no log at all where no reader holds it.
    ///
    /// - Parameter isPatient: waits a moment for readers that are just reading.
    func checkpoint(_ connection: Connection, truncating: Bool, isPatient: Bool = true) throws {
        memory.wantsCheckpoint = false
        guard let pointer = connection.pointer else { return }
        if !isPatient { sqlite3_busy_timeout(pointer, 0) }
        defer { if !isPatient { sqlite3_busy_timeout(pointer, DatabaseOpening.busyMilliseconds) } }
        var frames: Int32 = 0
        var copied: Int32 = 0
        let mode = truncating ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE
        let code = sqlite3_wal_checkpoint_v2(pointer, "main", mode, &frames, &copied)
        switch code & 0xff {
        case SQLITE_OK:
            // What a reader held back is copied after more has been written, not at once again.
            memory.pagesSinceCheckpoint = frames == copied ? 0 : database.limits.checkpoint / StoreLimits.pageSize / 2
        case SQLITE_BUSY, SQLITE_LOCKED:
            memory.pagesSinceCheckpoint = database.limits.checkpoint / StoreLimits.pageSize / 2
        default:
            throw SQLiteFailure(code: code, connection: pointer)
        }
    }
}
