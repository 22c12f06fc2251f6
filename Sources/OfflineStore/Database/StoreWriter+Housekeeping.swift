import GRDBSQLite
import Logging
import Synchronization

/// Water marks, quotas, sweeping, giving pages back, checkpoints: each in bounded steps between
/// transactions.
extension StoreWriter {
    /// Chunks in one step of the sweep: 4 MiB.
    private static let sweepCount: Int64 = 64
    /// Pages given back in one step: what takes their place is moved there, through the log.
    private var vacuumPages: Int64 { min(512, database.limits.checkpoint / StoreLimits.pageSize / 2) }

    /// One step of everything that is due; `true` when there is more to do.
    func keepHouse(_ connection: Connection) -> Bool {
        if memory.wantsDamageMarks { markDamage(connection) }
        do {
            // Marking writes to the log, which does not shrink while it is held; what is pending is
            // in force all the same.
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
            // Free pages are kept for what comes next, unless they are many or the file is too
            // long.
            let isTooLong = usage.total + usage.free > database.limits.budget && usage.free > 0
            noteWhetherDiskIsShort(usage)
            // On a disk that is short of room others would take what the next ones need.
            let kept = max(256 * StoreLimits.pageSize, usage.live / (memory.isDiskShort ? 2 : 8))
            if !memory.isEvicting, isTooLong || usage.free > kept {
                memory.wantsVacuum = true
            }
            // What is about to be removed is not moved first.
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
            setBack(error)
        }
        return memory.wantsSweep || memory.isEvicting || memory.wantsVacuum || memory.filterCursor != nil
            || ((memory.wantsTagSweep || memory.wantsEntrySweep || hasQuotaWork) && !logIsHeld.load(ordering: .relaxed))
    }

    /// Housekeeping failed: it is tried again when there is a reason to, and not in a loop.
    func setBack(_ error: any Error) {
        memory.wantsSweep = false
        memory.wantsTagSweep = false
        memory.wantsEntrySweep = false
        memory.isEvicting = false
        memory.quotas.setBack()
        memory.wantsVacuum = false
        memory.wantsCheckpoint = false
        memory.filterCursor = nil
        database.filter?.abandonBuilding()
        memory.usageEstimate = nil
        logger.debug("housekeeping failed", metadata: ["store.path": "\(path)", "error": "\(error)"])
        reportIfDamage(error)
    }

    /// Keys in one step of building the filter.
    private static let filterCount: Int64 = 4096

    /// Adds some of the stored keys to the filter that is being built.
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

    /// Applies unfinished invalidations of tags to as many entries as one transaction takes.
    private func sweepTags(_ connection: Connection) throws {
        let context = WriteContext(connection: connection, state: database, memory: memory)
        var isDone = false
        do {
            try transaction(connection) {
                isDone = try context.sweepTags(atMost: Int64(database.limits.batch))
                try context.writeTagBytes()
            }
        } catch {
            context.rolledBack()
            memory.tagCursor = .min
            throw error
        }
        context.committed()
        memory.wantsTagSweep = !isDone
    }

    /// Removes some chunks of bodies that no entry names and nobody reads.
    ///
    /// - Parameter divisor: takes so much less in one step.
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
        let statement = try connection.prepare("PRAGMA incremental_vacuum(\(vacuumPages))")
        try statement.run()
        memory.pagesSinceCheckpoint += writtenPages(connection)
        let after = try connection.integer("PRAGMA freelist_count") ?? 0
        if after == 0 || after >= before {
            memory.wantsVacuum = false
            // The file itself becomes shorter with the checkpoint.
            memory.wantsCheckpoint = true
        }
    }

    /// Copies the log into the database; truncating, it leaves no log at all where no reader holds
    /// it.
    ///
    /// A truncated log keeps a little of its room on the disk, but for the last time. On a disk
    /// that is short of room it keeps all.
    ///
    /// - Parameters:
    ///   - isPatient: waits a moment for readers that are just reading.
    ///   - isLast: nothing is written after it.
    /// - Returns: whether nothing is left in the log's file.
    @discardableResult
    func checkpoint(
        _ connection: Connection,
        truncating: Bool,
        isPatient: Bool = true,
        isLast: Bool = false
    ) throws -> Bool {
        memory.wantsCheckpoint = false
        guard let pointer = connection.pointer else { return false }
        let isKept = memory.isDiskShort && !isLast && !database.limits.securelyDeletes
        let truncating =
            try truncating && (!isKept || (FileStatus(path: path + "-wal")?.size ?? 0) > database.limits.log)
        if !isPatient { sqlite3_busy_timeout(pointer, 0) }
        defer { if !isPatient { sqlite3_busy_timeout(pointer, DatabaseOpening.busyMilliseconds) } }
        var frames: Int32 = 0
        var copied: Int32 = 0
        let mode = truncating ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE
        let code = readers.withoutKeptSnapshots { _ in
            sqlite3_wal_checkpoint_v2(pointer, "main", mode, &frames, &copied)
        }
        // The file ends with the last page now.
        memory.reservedLength = 0
        switch code & 0xff {
        case SQLITE_OK:
            if truncating, !isLast { reserveLog(connection) }
            // What a reader held back is copied after more has been written, not at once again.
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
