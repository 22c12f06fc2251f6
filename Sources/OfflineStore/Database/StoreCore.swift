import Dispatch
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import Logging
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The core of an open store: the database in use, the sequence, the counters, and the handling of
/// damage.
final class StoreCore: Sendable {
    private enum Current {
        case opening
        case open(StoreDatabase, currentInode: UInt64?)
        case closed
    }

    let folder: StoreFolder
    let settings: StoreDatabase.Settings
    let isReadOnly: Bool
    /// Whether no process can write the store, so this process keeps its own invalidations in
    /// memory.
    let isOnlyReader: Bool
    /// The number of the last invalidation.
    let sequence = Atomic<Int64>(0)
    /// Publishes every change to the stored responses.
    let changes = StoreChangeFeed()
    /// Publishes every change to the stored objects.
    let objectChanges = ChangeFeed<ObjectChange>()
    /// Notifies the publisher of new invalidations for other nodes.
    let journalAdditions = AdditionSignal()
    /// Heads and chunks with a wrong checksum, since opening.
    let damagedReads = Atomic<Int>(0)
    /// Objects that did not decode as the requested type, since opening.
    let undecodableObjects = Atomic<Int>(0)
    /// The number of evicted entries, and their bytes, since opening.
    let evictedEntries = Atomic<Int>(0)
    let evictedBytes = Atomic<Int64>(0)
    /// Runs operators' pin requests one at a time, so that no two are checked against the same free
    /// space.
    let pinTurns = Limiter(permits: 1, waitingLimit: .max)

    private let sidecar: SequenceSidecar?
    /// Watches another process's commits; `nil` in the process that writes.
    private let watch = Mutex<WriterWatch?>(nil)
    private let current = Mutex(Current.opening)
    /// Held while another database replaces the one in use.
    private let exchange = Mutex(())

    var logger: Logger { settings.logger }

    init(
        folder: StoreFolder,
        settings: StoreDatabase.Settings,
        sidecar: SequenceSidecar?,
        isReadOnly: Bool,
        isOnlyReader: Bool = false
    ) {
        self.folder = folder
        self.settings = settings
        self.sidecar = sidecar
        self.isReadOnly = isReadOnly
        self.isOnlyReader = isOnlyReader
    }

    /// Publishes a change when another process commits.
    func watchWriter(every interval: Duration) {
        let (path, logger) = (folder.path, logger)
        let watch = WriterWatch(changes, objectChanges, every: interval, folder: path, logger: logger) { [weak self] in
            guard let self else { throw Self.closed }
            return try self.database()
        }
        self.watch.withLock { $0 = watch }
    }

    /// The watch on another process's commits, for tests.
    var writerWatch: WriterWatch? { watch.withLock { $0 } }

    /// The database in use.
    ///
    /// - Throws: ``StoreError`` with `closed`.
    func database() throws -> StoreDatabase {
        let (database, inode) = try current.withLock { current in
            guard case .open(let database, let inode) = current else { throw Self.closed }
            return (database, inode)
        }
        if isReadOnly, let status = try? FileStatus(path: folder.currentPath), status.inode != inode {
            return try followCurrent(from: database, inode: status.inode)
        }
        return database
    }

    /// Returns the database for retrying a failed read: the one that replaced the other, which was
    /// set aside in the meantime.
    ///
    /// - Throws: the given error, if it had another reason.
    func database(insteadOf other: StoreDatabase, after error: any Error) throws -> StoreDatabase {
        guard (error as? StoreError)?.code == .closed else { throw error }
        let live = try database()
        guard live !== other else { throw error }
        return live
    }

    static let closed = StoreError(code: .closed, message: "The store is closed. Open it again to continue.")

    var readOnlyError: StoreError {
        StoreError(
            code: .readOnly,
            message:
                "The store '\(folder.path)' is open read-only, and this call would change it. Open it with 'CacheManager.open'."
        )
    }

    // MARK: Reading and writing

    /// Reads with one of the reading connections, on the calling thread.
    func read<Result>(_ body: (Connection, StoreDatabase) throws -> Result) throws -> Result {
        let database = try database()
        do {
            return try read(database) { try body($0, database) }
        } catch {
            let live = try self.database(insteadOf: database, after: error)
            return try read(live) { try body($0, live) }
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
            throw handle(error, in: database)
        }
    }

    /// Like ``read(_:_:)``, for an entry or part of its body; its duration is counted.
    func readEntry<Result>(_ database: StoreDatabase, _ body: (Connection) throws -> Result) throws -> Result {
        guard let telemetry = settings.telemetry else { return try read(database, body) }
        let start = ContinuousClock.now
        defer { telemetry.recordRead(since: start) }
        return try read(database, body)
    }

    /// Reads in a process that does not write. It learns of invalidations from the database, in the
    /// same snapshot as the entries.
    private func readAsOtherProcess<Result>(
        _ connection: Connection,
        _ database: StoreDatabase,
        _ body: (Connection) throws -> Result
    ) throws -> Result {
        if !database.state.has(DatabaseState.causeSchemaVersion) {
            let version = try connection.integer("PRAGMA user_version") ?? 0
            database.state.schemaVersion.max(Int32(truncatingIfNeeded: version), ordering: .releasing)
        }
        let removed = database.state.has(DatabaseState.sweepSchemaVersion) ? "response_removed, object_removed" : "0, 0"
        let statement = try connection.prepare(
            "SELECT sequence, response_floor, object_floor, \(removed) FROM store WHERE id = 1"
        )
        if try statement.step() {
            // Concurrent reads see different snapshots, so an older one must not lower these
            // numbers.
            sequence.max(statement.integer(0), ordering: .releasing)
            database.state.responseLowWaterMark.max(statement.integer(1), ordering: .releasing)
            database.state.objectLowWaterMark.max(statement.integer(2), ordering: .releasing)
            database.state.responseRemoved.max(statement.integer(3), ordering: .releasing)
            database.state.objectRemoved.max(statement.integer(4), ordering: .releasing)
        }
        statement.reset()
        return try body(connection)
    }

    /// Runs an operation in the writer's next transaction, and returns after the commit.
    func write<Result: Sendable>(
        to database: StoreDatabase? = nil,
        bytes: Int = 0,
        entries: Int = 1,
        isDurable: Bool = false,
        mayRunHere: Bool = false,
        pendingWrite: PendingWrite? = nil,
        _ operation: @escaping @Sendable (WriteContext) throws -> Result
    ) async throws -> Result {
        if isReadOnly { throw readOnlyError }
        let database = try database ?? self.database()
        guard let writer = database.writer else { throw readOnlyError }
        do {
            return try await writer.perform(
                bytes: bytes,
                entries: entries,
                isDurable: isDurable,
                mayRunHere: mayRunHere,
                pendingWrite: pendingWrite,
                operation
            )
        } catch {
            throw await handleOnAnotherThread(error, in: database)
        }
    }

    /// Like ``handle(_:in:)``, for callers whose thread must not be blocked
    /// (`ResponseStore.suspendsWhileWriting`). The new database is created on another thread.
    private func handleOnAnotherThread(_ error: any Error, in database: StoreDatabase) async -> StoreError {
        let error = StoreError(error, path: database.path)
        guard error.code == .damaged else { return error }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                self.setAside(database, because: error)
                continuation.resume()
            }
        }
        return error
    }

    /// Converts an error to the store's own. If it reports damage, a new database is in use when
    /// this returns.
    private func handle(_ error: any Error, in database: StoreDatabase) -> StoreError {
        let error = StoreError(error, path: database.path)
        if error.code == .damaged { setAside(database, because: error) }
        return error
    }

    /// Records that data read from an entry was damaged. The entry is no longer served.
    func noteDamage(_ what: StaticString, entryID: Int64, in database: StoreDatabase) {
        damagedReads.add(1, ordering: .relaxed)
        if database.state.damage.note(entryID) { database.writer?.requestSweep() }
        logger.warning(
            "stored data is damaged; treating it as missing",
            metadata: ["store.path": "\(database.path)", "store.entry": "\(entryID)", "store.part": "\(what)"]
        )
    }

    // MARK: Invalidations

    /// Records the number of a durable invalidation in the sidecar, then publishes it.
    private func publish(_ number: Int64, isDurable: Bool) throws {
        // Last. Each removal that a caller asks for takes a number, so watched objects may be gone.
        defer { objectChanges.publish(.any) }
        // Published even if the sidecar cannot be written: the invalidation is in effect, but not
        // guaranteed.
        defer { sequence.store(max(number, sequence.load(ordering: .acquiring)), ordering: .releasing) }
        if isDurable { try sidecar?.write(number) }
    }

    /// Returns when everything that was committed before the call is durable.
    func synchronize() async throws {
        // Read the number before the database, because a new database begins above it.
        let number = sequence.load(ordering: .acquiring)
        let database = try database()
        guard let writer = database.writer else { throw readOnlyError }
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    with: Result {
                        do {
                            try writer.synchronize()
                            try self.sidecar?.write(number)
                        } catch {
                            throw StoreError(error, path: database.path)
                        }
                    }
                )
            }
        }
    }

    // MARK: Opening, exchanging, closing

    /// Opens the database that `CURRENT` names, or creates one.
    ///
    /// - Parameter number: `nil` if there is none yet.
    func openCurrent(_ number: Int?, now: Timestamp) throws {
        if isReadOnly {
            guard let number else { return }
            let inode = try FileStatus(path: folder.currentPath)?.inode
            let (database, last) = try StoreDatabase.openForReading(
                number: number,
                path: folder.databasePath(number),
                folder: folder.path,
                settings: settings
            )
            if isOnlyReader { try distrustIfBehind(database, last: last) }
            install(database, sequence: last, inode: inode)
            return
        }
        let known = try sidecar?.read()
        guard let number else {
            return try startNew(secrets: .random(), sequence: known ?? 0, now: now)
        }
        do {
            guard case .ours = try DatabaseHeader(path: folder.databasePath(number)) else {
                throw SQLiteFailure(code: 26, message: "the file is missing or is not a database")
            }
            let (database, last) = try StoreDatabase.openForWriting(
                number: number,
                path: folder.databasePath(number),
                settings: settings,
                known: known,
                now: now,
                events: events
            )
            if last != known { try sidecar?.write(last) }
            install(database, sequence: last, inode: nil)
        } catch {
            guard (error as? SQLiteFailure)?.isDamage == true else { throw error }
            logSetAside(number, error)
            // If neither a database nor a sidecar has the number, the clock's milliseconds are
            // above every former number.
            try startNew(secrets: .random(), sequence: known ?? max(1, now.milliseconds), now: now)
        }
    }

    /// Distrusts all entries if the sidecar has a higher invalidation number than the database. It
    /// does so in memory, because nothing can be written.
    private func distrustIfBehind(_ database: StoreDatabase, last: Int64) throws {
        let known = try SequenceSidecar.read(path: folder.sidecarPath)
        if let known, known <= last { return }
        database.state.responseLowWaterMark.max(.max, ordering: .releasing)
        database.state.objectLowWaterMark.max(.max, ordering: .releasing)
        logger.warning(
            "the database may have lost invalidations; every entry in it is treated as invalidated",
            metadata: ["store.path": "\(database.path)"]
        )
    }

    private var events: StoreWriter.Events {
        StoreWriter.Events(
            journaled: { [weak self] in self?.journalAdditions.send() },
            invalidated: { [weak self] in try self?.publish($0, isDurable: $1) },
            damaged: { [weak self] writer, error in
                // This is the damaged writer's own queue, which the exchange waits for, so it runs
                // elsewhere. Detached, because it must not end with the task that found the damage.
                Task.detached {
                    guard let self, let database = try? self.database(), database.writer === writer else { return }
                    self.setAside(database, because: error)
                }
            },
            evicted: { [weak self] count, bytes in
                self?.evictedEntries.add(count, ordering: .relaxed)
                self?.evictedBytes.add(bytes, ordering: .relaxed)
                self?.objectChanges.publish(.any)
            }
        )
    }

    /// Creates a database under the next number, then makes `CURRENT` name it.
    private func startNew(secrets: StoreSecrets, sequence: Int64, now: Timestamp) throws {
        let number = (try folder.databases().last ?? 0) + 1
        let path = folder.databasePath(number)
        // Each database has its own range of numbers, so that a number from one never matches an
        // entry in another.
        let firstID = Int64(number % 2048) << 36 + 1
        do {
            try DatabaseOpening.create(
                path: path,
                limits: settings.limits,
                secrets: secrets,
                firstID: firstID,
                sequence: sequence
            )
            try synchronizeFolder(folder.path)
            try sidecar?.write(sequence)
            try folder.setCurrent(number)
        } catch {
            // Nothing refers to the file, so removing it loses nothing. Otherwise each attempt
            // would leave another file.
            if (try? folder.content()) != .store(number: number) {
                for ending in ["", "-wal", "-shm", "-journal"] { unlink(path + ending) }
            }
            throw error
        }
        let (database, last) = try StoreDatabase.openForWriting(
            number: number,
            path: path,
            settings: settings,
            known: sequence,
            now: now,
            events: events
        )
        install(database, sequence: last, inode: nil)
    }

    private func install(_ database: StoreDatabase, sequence number: Int64, inode: UInt64?) {
        sequence.store(max(number, sequence.load(ordering: .acquiring)), ordering: .releasing)
        current.withLock { $0 = .open(database, currentInode: inode) }
        database.writer?.requestSweep()
    }

    /// Closes a damaged database, leaves its file, and continues with a new one.
    ///
    /// If the new one cannot be created (because of a full disk, for example), the damaged one
    /// stays in use, and its next failure triggers another attempt.
    func setAside(_ damaged: StoreDatabase, because error: any Error) {
        guard !isReadOnly else { return }
        let isExchanged = exchange.withLock { _ in
            let isLive = current.withLock { current in
                if case .open(let database, _) = current { database === damaged } else { false }
            }
            guard isLive else { return false }
            logSetAside(damaged.number, error)
            do {
                // The damaged database may still partly work. If it accepted an invalidation in the
                // meantime, the new one would not know that number and would reuse it.
                let reason = SQLiteFailure(code: 11, message: "set aside").storeError(path: damaged.path)
                try damaged.writer?.refuseAfter(reason) {
                    let now = Timestamp(milliseconds: damaged.state.latestInstant)
                    let known = try? sidecar?.read()
                    // Its journal may have had entries; the new one has them from joining.
                    journalAdditions.send()
                    try startNew(
                        secrets: damaged.state.secrets,
                        sequence: max(known ?? 0, sequence.load(ordering: .acquiring)),
                        now: now
                    )
                }
                return true
            } catch {
                logger.warning(
                    "cannot create a new database",
                    metadata: ["store.path": "\(folder.path)", "error": "\(StoreError(error, path: folder.path))"]
                )
                return false
            }
        }
        guard isExchanged else { return }
        try? damaged.close(checkpointing: false)
        changes.publish(StoreChange(.invalidated, .all))
        objectChanges.publish(.any)
    }

    private func logSetAside(_ number: Int, _ error: any Error) {
        logger.warning(
            "the database is damaged; leaving its file in place and creating a new database",
            metadata: ["store.path": "\(folder.databasePath(number))", "error": "\(error)"]
        )
    }

    /// Switches to the database that the writing process switched to.
    private func followCurrent(from old: StoreDatabase, inode: UInt64) throws -> StoreDatabase {
        try exchange.withLock { _ in
            let (database, known) = try current.withLock { current in
                guard case .open(let database, let known) = current else { throw Self.closed }
                return (database, known)
            }
            if known == inode { return database }
            guard case .store(let number) = try folder.content() else { return database }
            if number == database.number, try FileStatus(path: database.path)?.inode == database.inode {
                current.withLock { $0 = .open(database, currentInode: inode) }
                return database
            }
            let (next, last) = try StoreDatabase.openForReading(
                number: number,
                path: folder.databasePath(number),
                folder: folder.path,
                settings: settings
            )
            // Readers of the old database finish their bodies. The last reader closes it.
            install(next, sequence: last, inode: inode)
            return next
        }
    }

    /// Runs waiting operations, makes a checkpoint, and releases the folder.
    ///
    /// A second call does nothing.
    func close() throws {
        // However closing ends, the store no longer changes.
        defer {
            changes.finish()
            objectChanges.finish()
        }
        watch.withLock { $0 }?.close()
        try exchange.withLock { _ in
            let database = current.withLock { current -> StoreDatabase? in
                defer { current = .closed }
                if case .open(let database, _) = current { return database }
                return nil
            }
            guard let database else { return }
            database.writer?.refuse(Self.closed)
            defer { settings.lock?.release() }
            do {
                try database.close(checkpointing: true)
            } catch {
                throw StoreError(error, path: database.path)
            }
        }
    }
}
