import Dispatch
import HTTPCache
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

/// What everything in an open store goes through: the live database, the sequence, the counters,
/// and what happens on damage.
final class StoreCore: Sendable {
    private enum Current {
        case opening
        case open(StoreDatabase, currentInode: UInt64?)
        case closed
    }

    let folder: StoreFolder
    let settings: StoreDatabase.Settings
    let isReadOnly: Bool
    /// Invalidations of a store that no process can write; `nil` where the writer, here or in
    /// another process, takes them.
    let volatile: VolatileInvalidations?
    /// The number of the last invalidation.
    let sequence = Atomic<Int64>(0)
    /// Tells of every change to the stored responses.
    let changes = StoreChangeFeed()
    /// Heads and chunks whose checksum did not fit, since opening.
    let damagedReads = Atomic<Int>(0)
    /// Objects that did not decode as the type asked for, since opening.
    let undecodableObjects = Atomic<Int>(0)
    /// Entries that were evicted, since opening, and their bytes.
    let evictedEntries = Atomic<Int>(0)
    let evictedBytes = Atomic<Int64>(0)

    private let sidecar: SequenceSidecar?
    /// Looks for what another process writes; `nil` in the process that writes.
    private let watch = Mutex<WriterWatch?>(nil)
    private let current = Mutex(Current.opening)
    /// Held while the live database is exchanged for another.
    private let exchange = Mutex(())

    var logger: Logger { settings.logger }

    init(
        folder: StoreFolder,
        settings: StoreDatabase.Settings,
        sidecar: SequenceSidecar?,
        isReadOnly: Bool,
        volatile: VolatileInvalidations? = nil
    ) {
        self.folder = folder
        self.settings = settings
        self.sidecar = sidecar
        self.isReadOnly = isReadOnly
        self.volatile = volatile
    }

    /// Has the changes told that another process commits.
    func watchWriter(every interval: Duration) {
        let watch = WriterWatch(changes, every: interval, folder: folder.path, logger: logger) { [weak self] in
            guard let self else { throw Self.closed }
            return try self.database()
        }
        self.watch.withLock { $0 = watch }
    }

    /// What looks for another process's commits, for tests.
    var writerWatch: WriterWatch? { watch.withLock { $0 } }

    /// The live database.
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

    /// The database to read from after a read has failed: the one that took the place of the other,
    /// which was set aside meanwhile.
    ///
    /// - Throws: the error, where that is not what it says.
    func database(insteadOf other: StoreDatabase, after error: any Error) throws -> StoreDatabase {
        guard (error as? StoreError)?.code == .closed else { throw error }
        let live = try database()
        guard live !== other else { throw error }
        return live
    }

    static let closed = StoreError(code: .closed, message: "The store has been closed. Open it again to go on.")

    var readOnlyError: StoreError {
        StoreError(
            code: .readOnly,
            message:
                "The store '\(folder.path)' was opened read-only, and this call would change it. Use 'CacheManager.open'."
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

    /// Reads from a database that need not be the live one any more.
    func read<Result>(_ database: StoreDatabase, _ body: (Connection) throws -> Result) throws -> Result {
        do {
            return try database.readers.read { connection in
                guard isReadOnly else { return try body(connection) }
                return try readAsGuest(connection, database, body)
            }
        } catch {
            throw handled(error, in: database)
        }
    }

    /// In another process than the writer's, invalidations are learnt from the database, with the
    /// same snapshot as what they are about.
    private func readAsGuest<Result>(
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
            // Several reads see several snapshots; what one has learnt, an older one does not take
            // back.
            sequence.max(statement.integer(0), ordering: .releasing)
            database.state.responseFloor.max(statement.integer(1), ordering: .releasing)
            database.state.objectFloor.max(statement.integer(2), ordering: .releasing)
            database.state.responseRemoved.max(statement.integer(3), ordering: .releasing)
            database.state.objectRemoved.max(statement.integer(4), ordering: .releasing)
        }
        statement.reset()
        return try body(connection)
    }

    /// Runs an operation in the writer's next transaction and returns after its commit.
    func write<Result: Sendable>(
        to database: StoreDatabase? = nil,
        bytes: Int = 0,
        entries: Int = 1,
        isDurable: Bool = false,
        mayRunHere: Bool = false,
        shown: PendingWrite? = nil,
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
                shown: shown,
                operation
            )
        } catch {
            throw await handledElsewhere(error, in: database)
        }
    }

    /// As ``handled(_:in:)``, for callers whose thread must not be kept (``SuspendingWrites``): a
    /// new database is made on another.
    private func handledElsewhere(_ error: any Error, in database: StoreDatabase) async -> StoreError {
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

    /// An error as the store's own; if it tells of damage, there is a new database when this
    /// returns.
    private func handled(_ error: any Error, in database: StoreDatabase) -> StoreError {
        let error = StoreError(error, path: database.path)
        if error.code == .damaged { setAside(database, because: error) }
        return error
    }

    /// Notes that something read from the disk was not what had been written: from now on its entry
    /// answers no more.
    func noteDamage(_ what: StaticString, entryID: Int64, in database: StoreDatabase) {
        damagedReads.add(1, ordering: .relaxed)
        if database.state.damage.note(entryID) { database.writer?.requestSweep() }
        logger.warning(
            "stored data is damaged; treated as not stored",
            metadata: ["store.path": "\(database.path)", "store.entry": "\(entryID)", "store.part": "\(what)"]
        )
    }

    // MARK: Invalidations

    /// Notes a committed invalidation where it survives damage to the database, then publishes it.
    private func publish(_ number: Int64) throws {
        // Published even when the sidecar cannot be written: it is in force, only not yet promised.
        defer { sequence.store(max(number, sequence.load(ordering: .acquiring)), ordering: .releasing) }
        try sidecar?.write(number)
    }

    // MARK: Opening, exchanging, closing

    /// Opens the database that `CURRENT` names, or makes one.
    ///
    /// - Parameter number: `nil` when there is none yet.
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
            if volatile != nil { try distrustIfBehind(database, last: last) }
            install(database, sequence: last, inode: inode)
            return
        }
        let known = try sidecar?.read()
        guard let number else {
            return try startNew(secrets: .random(), sequence: known ?? 0, now: now)
        }
        do {
            guard case .ours = try DatabaseHeader(path: folder.databasePath(number)) else {
                throw SQLiteFailure(code: 26, message: "the file is missing or no database")
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
            guard SQLiteFailure(error)?.isDamage == true else { throw error }
            logSetAside(number, error)
            // With neither a database nor a sidecar to tell the number, the clock's is above every
            // count there was.
            try startNew(secrets: .random(), sequence: known ?? max(1, now.milliseconds), now: now)
        }
    }

    /// Where the sidecar knows of invalidations that the database does not, nothing in it is
    /// trusted: in memory, because nothing can be written.
    private func distrustIfBehind(_ database: StoreDatabase, last: Int64) throws {
        let known = try SequenceSidecar.read(path: folder.sidecarPath)
        if let known, known <= last { return }
        database.state.responseFloor.max(.max, ordering: .releasing)
        database.state.objectFloor.max(.max, ordering: .releasing)
        logger.warning(
            "the database may have lost invalidations; everything in it counts as invalidated",
            metadata: ["store.path": "\(database.path)"]
        )
    }

    private var events: StoreWriter.Events {
        StoreWriter.Events(
            invalidated: { [weak self] in try self?.publish($0) },
            damaged: { [weak self] writer, error in
                // Not here: this is the damaged writer's own queue, which the exchange waits for.
                // And nobody's child: the exchange is the store's own matter, whoever ran into the
                // damage and gives up.
                Task.detached {
                    guard let self, let database = try? self.database(), database.writer === writer else { return }
                    self.setAside(database, because: error)
                }
            },
            evicted: { [weak self] count, bytes in
                self?.evictedEntries.add(count, ordering: .relaxed)
                self?.evictedBytes.add(bytes, ordering: .relaxed)
            }
        )
    }

    /// Makes a database under the next number, then has `CURRENT` name it.
    private func startNew(secrets: StoreSecrets, sequence: Int64, now: Timestamp) throws {
        let number = (try folder.databases().last ?? 0) + 1
        let path = folder.databasePath(number)
        // Each database has its own range, so that a number from one never finds anything in
        // another.
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
            // Nothing names it, so nothing is lost with it; left behind, each further try would
            // leave one more.
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

    /// Closes a damaged database, leaves it under its number, and goes on with a new one.
    ///
    /// If the new one cannot be made (no room, say) the damaged one stays, and this is tried again
    /// on its next failure.
    func setAside(_ damaged: StoreDatabase, because error: any Error) {
        guard !isReadOnly else { return }
        let isExchanged = exchange.withLock { _ in
            let isLive = current.withLock { current in
                if case .open(let database, _) = current { database === damaged } else { false }
            }
            guard isLive else { return false }
            logSetAside(damaged.number, error)
            do {
                // The damaged one may still work in parts: an invalidation that it took meanwhile
                // would have a number that the new one does not know and gives again.
                let reason = SQLiteFailure(code: 11, message: "set aside").storeError(path: damaged.path)
                try damaged.writer?.refuseAfter(reason) {
                    let now = Timestamp(milliseconds: damaged.state.latestInstant)
                    let known = try? sidecar?.read()
                    try startNew(
                        secrets: damaged.state.secrets,
                        sequence: max(known ?? 0, sequence.load(ordering: .acquiring)),
                        now: now
                    )
                }
                return true
            } catch {
                logger.warning(
                    "no new database could be made",
                    metadata: ["store.path": "\(folder.path)", "error": "\(StoreError(error, path: folder.path))"]
                )
                return false
            }
        }
        guard isExchanged else { return }
        try? damaged.close(checkpointing: false)
        changes.publish(StoreChange(.invalidated, .all))
    }

    private func logSetAside(_ number: Int, _ error: any Error) {
        logger.warning(
            "the database is damaged; it is left where it is and a new one is started",
            metadata: ["store.path": "\(folder.databasePath(number))", "error": "\(error)"]
        )
    }

    /// The writing process went on with another database: so does this one.
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
            // Bodies that are being read from the old one are read to their ends; its last reader
            // closes it.
            install(next, sequence: last, inode: inode)
            return next
        }
    }

    /// Does what waits, checkpoints, lets go of the folder.
    ///
    /// A second call does nothing.
    func close() throws {
        // Whatever becomes of the database, nothing changes in it any more.
        defer { changes.finish() }
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
