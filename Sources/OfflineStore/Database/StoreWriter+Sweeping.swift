import Synchronization

/// Invalidations of many entries, applied to their rows in bounded transactions.
extension StoreWriter {
    /// Does one step of the sweep over all entries.
    ///
    /// - Returns: how many rows it removed.
    @discardableResult
    func sweepEntries(_ connection: Connection) throws -> Int {
        let context = WriteContext(connection: connection, state: database, memory: memory)
        var step = WriteContext.SweepStep()
        do {
            try transaction(connection) {
                step = try context.sweepEntries(atMost: database.limits.batch)
                try context.writeTagBytes()
            }
        } catch {
            context.rolledBack()
            memory.entryRound = nil
            throw error
        }
        context.committed()
        memory.wantsEntrySweep = !step.isDone
        return step.removed
    }

    /// Lets lookups know when nothing is unfinished, so that they need not ask.
    func noteWhetherSwept(_ connection: Connection) throws {
        guard !memory.wantsTagSweep, !memory.wantsEntrySweep, database.mayHavePending.load(ordering: .relaxed) else {
            return
        }
        let isPending = try connection.integer("SELECT \(PendingInvalidation.hasSome(database))") != 0
        if isPending { return }
        // Only when nobody reads an older snapshot, with rows that are not marked yet; else the
        // next time. Whoever sets it does so on this queue.
        readers.withoutKeptSnapshots { areGone in
            if areGone { database.mayHavePending.store(false, ordering: .releasing) }
        }
    }

    /// Removes some of what counts as gone already, bodies included; `false` when a step of the
    /// sweep found nothing of it.
    func removePending(_ connection: Connection) throws -> Bool {
        guard memory.wantsEntrySweep else { return false }
        let context = WriteContext(connection: connection, state: database, memory: memory)
        guard try context.hasPendingRemovals(), try sweepEntries(connection) > 0 else { return false }
        while memory.wantsSweep { try sweep(connection) }
        return true
    }
}
