import Synchronization

/// Applies invalidations of many entries to the rows, in bounded transactions.
extension StoreWriter {
    /// Runs one step of the sweep over all entries.
    ///
    /// - Returns: the number of rows it removed.
    @discardableResult
    func sweepEntries(_ connection: Connection) throws -> Int {
        let context = WriteContext(connection: connection, state: database, memory: memory)
        var step = WriteContext.SweepStep()
        do {
            try transaction(connection) {
                step = try context.sweepEntries(atMost: database.limits.sweepStep)
                try context.writeTagBytes()
            }
        } catch {
            context.dropEffects()
            memory.entryRound = nil
            throw error
        }
        context.applyCommit()
        memory.wantsEntrySweep = !step.isDone
        return step.removed
    }

    /// Clears the flag for pending invalidations when none is left, so that lookups skip the check.
    func noteWhetherSwept(_ connection: Connection) throws {
        guard !memory.wantsTagSweep, !memory.wantsEntrySweep, database.mayHavePending.load(ordering: .relaxed) else {
            return
        }
        let isPending = try connection.integer("SELECT \(PendingInvalidation.hasSome(database))") != 0
        if isPending { return }
        // Only if no connection is reading an older snapshot, which has rows without marks;
        // otherwise next time. The flag is only set on this queue.
        readers.withoutKeptSnapshots { areGone in
            if areGone { database.mayHavePending.store(false, ordering: .releasing) }
        }
    }

    /// Removes some entries that already count as removed, with their bodies; returns `false` if a
    /// step of the sweep found none.
    func removePending(_ connection: Connection) throws -> Bool {
        guard memory.wantsEntrySweep else { return false }
        let context = WriteContext(connection: connection, state: database, memory: memory)
        guard try context.hasPendingRemovals(), try sweepEntries(connection) > 0 else { return false }
        while memory.wantsSweep { try sweep(connection) }
        return true
    }
}
