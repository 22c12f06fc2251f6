import Synchronization

extension StoreCore {
    /// Reads with one of the reading connections, on the calling thread.
    func read<Result>(_ body: (Connection, StoreDatabase) throws -> Result) throws -> Result {
        try withDatabase { database in
            try read(database) { try body($0, database) }
        }
    }

    /// Reads from a database that may have been replaced.
    func read<Result>(_ database: StoreDatabase, _ body: (Connection) throws -> Result) throws -> Result {
        do {
            return try database.readers.read { connection in
                guard isReadOnly else { return try body(connection) }
                return try readAsOtherProcess(connection, database, body)
            }
        } catch {
            // If it reports damage, a new database is in use when this returns.
            let error = StoreError(error, path: database.path)
            if error.code == .damaged { setAside(database, because: error) }
            throw error
        }
    }

    /// Like ``read(_:_:)``, for an entry or part of its body; its duration is counted.
    func readEntry<Result>(_ database: StoreDatabase, _ body: (Connection) throws -> Result) throws -> Result {
        guard let telemetry = settings.telemetry else { return try read(database, body) }
        let start = ContinuousClock.now
        defer { telemetry.recordRead(since: start) }
        return try read(database, body)
    }

    /// Like ``readEntry(_:_:)``, if that needs no waiting.
    ///
    /// - Returns: `nil` if it would have to wait, or if `body` throws. Nothing is reported then.
    func readEntryAtOnce<Result>(_ database: StoreDatabase, _ body: (Connection) throws -> Result) -> Result? {
        guard let telemetry = settings.telemetry else { return database.readers.readAtOnce(body) }
        let start = ContinuousClock.now
        guard let result = database.readers.readAtOnce(body) else { return nil }
        telemetry.recordRead(since: start)
        return result
    }

    /// Reads in a process that does not write. It learns of invalidations from the database, in the
    /// same snapshot as the entries.
    private func readAsOtherProcess<Result>(
        _ connection: Connection,
        _ database: StoreDatabase,
        _ body: (Connection) throws -> Result
    ) throws -> Result {
        let state = database.state
        if !state.has(DatabaseState.causeSchemaVersion) {
            let version = try connection.integer("PRAGMA user_version") ?? 0
            state.schemaVersion.max(Int32(truncatingIfNeeded: version), ordering: .releasing)
        }
        let removed = state.has(DatabaseState.sweepSchemaVersion) ? "response_removed, object_removed" : "0, 0"
        let statement = try connection.prepare(
            "SELECT sequence, response_floor, object_floor, \(removed) FROM store WHERE id = 1"
        )
        if try statement.step() {
            // Concurrent reads see different snapshots, so an older one must not lower these
            // numbers.
            lastInvalidation.value.max(statement.integer(0), ordering: .releasing)
            state.responseLowWaterMark.max(statement.integer(1), ordering: .releasing)
            state.objectLowWaterMark.max(statement.integer(2), ordering: .releasing)
            state.responseRemoved.max(statement.integer(3), ordering: .releasing)
            state.objectRemoved.max(statement.integer(4), ordering: .releasing)
        }
        statement.reset()
        return try body(connection)
    }
}
