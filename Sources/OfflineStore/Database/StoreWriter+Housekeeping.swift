import CSQLite
import Logging
import StoreFiles
import StoreMemory
import Synchronization

/// Housekeeping: water marks, quotas, sweeping, returning pages, and checkpoints, in bounded steps
/// between transactions.
extension StoreWriter {
    /// The chunks removed in one step of the sweep: 4 MiB.
    private static let sweepCount: Int64 = 64
    /// The pages returned in one step. The pages that replace them are moved through the log.
    private var vacuumPages: Int64 { min(64, database.limits.checkpoint / StoreLimits.pageSize / 2) }

    /// Runs one step of all due housekeeping; returns `true` if there is more to do.
    func doHousekeeping(_ connection: Connection) -> Bool {
        if memory.wantsDamageMarks { markDamage(connection) }
        do {
            // Marking writes to the log, which does not shrink while a reader holds it. Pending
            // invalidations are in effect without marks.
            if memory.wantsTagSweep, !logIsHeld.load(ordering: .relaxed) { try sweepTags(connection) }
            if memory.wantsEntrySweep, !logIsHeld.load(ordering: .relaxed) { try sweepEntries(connection) }
            try noteWhetherSwept(connection)
            if memory.wantsSweep { try sweep(connection) }
            let usage = try usage(connection)
            if usage.reachable > database.limits.highWater { memory.isEvicting = true }
            let mayBeHeld = usage.log > database.limits.log || logIsHeld.load(ordering: .relaxed)
            if mayBeHeld, try isLogHeld(usage, connection) {
                memory.isEvicting = false
                return memory.wantsSweep
            }
            if memory.isEvicting {
                if usage.reachable <= database.limits.lowWater {
                    memory.isEvicting = false
                } else if try removePending(connection)
                    || evict(usage.reachable - database.limits.lowWater, connection)
                {
                    while memory.wantsSweep { try sweep(connection) }
                } else {
                    memory.isEvicting = false
                }
                if usage.log > database.limits.checkpoint { memory.wantsCheckpoint = true }
            }
            if hasQuotaWork { try enforceQuotas(connection) }
            // Free pages are kept for new entries, unless there are many or the file is too long.
            let isTooLong = usage.total + usage.free > database.limits.budget && usage.free > 0
            noteWhetherDiskIsShort(usage)
            // If the disk is low on space, other programs would use the space that new entries
            // need.
            let kept = max(256 * StoreLimits.pageSize, usage.live / (memory.isDiskShort ? 2 : 8))
            if !memory.isEvicting, isTooLong || usage.free > kept {
                memory.wantsVacuum = true
            }
            // Pages are not moved while entries are about to be removed.
            let isSweeping = memory.wantsEntrySweep && !logIsHeld.load(ordering: .relaxed)
            if memory.wantsVacuum, !isSweeping { try vacuum(connection) }
            if memory.filterCursor != nil { try buildFilter(connection) }
            let written = memory.pagesSinceCheckpoint * StoreLimits.pageSize
            if memory.wantsCheckpoint || written >= database.limits.checkpoint {
                try checkpoint(
                    connection,
                    truncating: memory.wantsCheckpoint || usage.log > 2 * database.limits.checkpoint
                )
            }
            try eraseLog(connection)
        } catch {
            postponeHousekeeping(after: error)
        }
        return memory.wantsSweep || memory.isEvicting || memory.wantsVacuum || memory.filterCursor != nil
            || ((memory.wantsTagSweep || memory.wantsEntrySweep || hasQuotaWork) && !logIsHeld.load(ordering: .relaxed))
    }

    /// Postpones housekeeping after a failure. It is retried when there is a new reason, not in a
    /// loop.
    func postponeHousekeeping(after error: any Error) {
        memory.wantsSweep = false
        memory.wantsTagSweep = false
        memory.wantsEntrySweep = false
        memory.isEvicting = false
        memory.quotas.postpone()
        memory.wantsVacuum = false
        memory.wantsCheckpoint = false
        memory.filterCursor = nil
        database.filter?.abandonBuilding()
        memory.usageEstimate = nil
        logger.debug("housekeeping failed", metadata: ["store.path": "\(path)", "error": "\(error)"])
        reportIfDamage(error)
    }

    /// The keys added in one step of building the filter.
    private static let filterCount: Int64 = 4096

    /// Adds some of the stored keys to the filter being built.
    private func buildFilter(_ connection: Connection) throws {
        guard let cursor = memory.filterCursor, let filter = database.filter else { return }
        if cursor == .min { filter.beginBuilding() }
        let statement = try connection.prepare(
            "SELECT key_hash FROM entry INDEXED BY entry_by_key WHERE key_hash >= ?1 ORDER BY key_hash LIMIT ?2"
        )
        defer { statement.reset() }
        statement.bind(1, cursor)
        statement.bind(2, Self.filterCount)
        var hashes: [Int64] = []
        while try statement.step() { hashes.append(statement.integer(0)) }
        filter.add(hashes)
        if let last = hashes.last, last < .max {
            memory.filterCursor = last + 1
        } else {
            memory.filterCursor = nil
            filter.endBuilding()
        }
    }

    /// Applies unfinished tag invalidations to as many entries as fit in one transaction.
    private func sweepTags(_ connection: Connection) throws {
        let context = WriteContext(connection: connection, state: database, memory: memory)
        var isDone = false
        do {
            try transaction(connection) {
                isDone = try context.sweepTags(atMost: Int64(database.limits.sweepStep))
                try context.writeTagBytes()
            }
        } catch {
            context.dropEffects()
            memory.tagCursor = .min
            throw error
        }
        context.applyCommit()
        memory.wantsTagSweep = !isDone
    }

    /// Removes some chunks of bodies that have no entry and are not being read.
    ///
    /// - Parameter divisor: divides the number of chunks in one step.
    func sweep(_ connection: Connection, divisor: Int64 = 1) throws {
        let context = WriteContext(connection: connection, state: database, memory: memory)
        var cursor = memory.sweepCursor
        var isDone = false
        do {
            try transaction(connection) {
                var room = max(1, Self.sweepCount / divisor)
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
                        try context.noteHeld(bodyID)
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
            context.dropEffects()
            throw error
        }
        context.applyCommit()
        memory.sweepCursor = isDone ? 0 : cursor
        memory.wantsSweep = !isDone
    }

    /// Returns free pages to the file system.
    private func vacuum(_ connection: Connection) throws {
        let before = try connection.integer("PRAGMA freelist_count") ?? 0
        let statement = try connection.prepare("PRAGMA incremental_vacuum(\(vacuumPages))")
        try statement.run()
        memory.pagesSinceCheckpoint += writtenPages(connection)
        let after = try connection.integer("PRAGMA freelist_count") ?? 0
        if after == 0 || after >= before {
            memory.wantsVacuum = false
            // The checkpoint shortens the file itself.
            memory.wantsCheckpoint = true
        }
    }

    /// Returns when everything committed before the call is durable. Operations continue in the
    /// meantime.
    func synchronize() throws {
        if try log.synchronize() { return }
        try withConnection { connection in
            guard try checkpoint(connection, truncating: true) else { throw Self.unsynced }
            log.recover()
        }
    }

    private static let unsynced = StoreError(
        code: .io,
        message: "The store's write-ahead log could not be synced, so the store cannot be copied now. Try again."
    )

    /// Copies the log into the database.
    ///
    /// A truncating checkpoint empties the log if no reader holds it. The emptied log keeps a
    /// little disk space, except for the last checkpoint. If the disk is low on space, it keeps all
    /// its space.
    ///
    /// - Parameters:
    ///   - isPatient: whether to wait a moment for readers that are about to finish.
    ///   - isLast: whether nothing is written afterward.
    ///   - isShortened: whether the log also returns its space on a full disk, where it otherwise
    ///     keeps it.
    /// - Returns: whether the log's file is empty.
    @discardableResult
    func checkpoint(
        _ connection: Connection,
        truncating: Bool,
        isPatient: Bool = true,
        isLast: Bool = false,
        isShortened: Bool = false
    ) throws -> Bool {
        memory.wantsCheckpoint = false
        guard let pointer = connection.pointer else { return false }
        let isKept = memory.isDiskShort && !isLast && !isShortened && !database.limits.securelyDeletes
        let truncating =
            try truncating && (!isKept || (FileStatus(path: path + "-wal")?.size ?? 0) > database.limits.log)
        if !isPatient { sqlite3_busy_timeout(pointer, 0) }
        defer { if !isPatient { sqlite3_busy_timeout(pointer, DatabaseOpening.busyMilliseconds) } }
        var frames: Int32 = 0
        var copied: Int32 = 0
        let mode = truncating ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE
        let start = ContinuousClock.now
        let code = readers.withoutKeptSnapshots { _ in
            sqlite3_wal_checkpoint_v2(pointer, "main", mode, &frames, &copied)
        }
        telemetry?.recordCheckpoint(since: start)
        // The checkpoint cut the file after its last page.
        memory.reservedLength = 0
        switch code & 0xff {
        case SQLITE_OK:
            if truncating, !isLast { reserveLog(connection) }
            // A part that a reader held back is copied after more has been written, not
            // immediately.
            memory.pagesSinceCheckpoint = frames == copied ? 0 : database.limits.checkpoint / StoreLimits.pageSize / 2
            return truncating
        case SQLITE_BUSY, SQLITE_LOCKED:
            memory.pagesSinceCheckpoint = database.limits.checkpoint / StoreLimits.pageSize / 2
            return false
        default:
            throw SQLiteFailure(code: code, connection: pointer)
        }
    }
}
