import GRDB
import GRDBSQLite
import Logging
import Synchronization

/// The one writing connection, and the queue before it.
///
/// Operations that wait are taken together into one transaction, each in a savepoint, and their callers go on after its commit.
/// Between transactions the writer does the store's housekeeping, one bounded step at a time: eviction, sweeping, giving pages back, and
/// every checkpoint (SQLite before 3.51.3 can corrupt a file when two connections checkpoint and write together).
final class StoreWriter: Sendable {
    /// What the writer tells the store.
    struct Events: Sendable {
        /// An invalidation was committed: to be noted in the sidecar and published before its caller goes on.
        var invalidated: @Sendable (Int64) throws -> Void
        /// This writer's database is damaged.
        var damaged: @Sendable (StoreWriter, any Error) -> Void
    }

    private struct State {
        var pending: [WriteJob] = []
        var pendingBytes = 0
        var isDraining = false
        var wantsSweep = false
        var refusal: StoreError?
        var idleWaiters: [CheckedContinuation<Void, Never>] = []
        /// Explicit calls that wait for room in the queue.
        var admissionWaiters: [CheckedContinuation<Void, Never>] = []

        mutating func beginDraining() -> Bool {
            if isDraining { return false }
            isDraining = true
            return true
        }

        /// `false` when something came in meanwhile.
        mutating func endDraining() -> Bool {
            guard pending.isEmpty, !wantsSweep else { return false }
            isDraining = false
            return true
        }
    }

    let queue: DatabaseQueue
    let path: String
    let database: DatabaseState
    let memory: WriterMemory
    let logger: Logger
    private let events: Events
    private let state = Mutex(State())
    /// A reader keeps the log from shrinking: see ``isLogHeld(_:_:)``.
    let logIsHeld = Atomic(false)
    /// Kept here, after the connection, so that a store that is dropped without being closed lets go of its folder last.
    private let lock: FolderLock?

    init(
        queue: DatabaseQueue,
        path: String,
        database: DatabaseState,
        nextID: Int64,
        logger: Logger,
        lock: FolderLock?,
        events: Events
    ) {
        self.lock = lock
        self.queue = queue
        self.path = path
        self.database = database
        self.memory = WriterMemory(nextID: nextID)
        self.logger = logger
        self.events = events
        database.leases.whenCondemnedIsReleased { [weak self] in self?.requestSweep() }
    }

    // MARK: The queue

    /// Runs an operation in a transaction and returns after its commit.
    ///
    /// - Parameters:
    ///   - bytes: octets that the operation carries.
    ///   - isDurable: the commit is synced to the disk.
    func perform<Result: Sendable>(
        bytes: Int = 0,
        isDurable: Bool = false,
        _ operation: @escaping @Sendable (WriteContext) throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            submit(WriteJob(bytes: bytes, isDurable: isDurable, continuation: continuation, operation: operation))
        }
    }

    private func submit(_ job: WriteJob) {
        let (refusal, starts) = state.withLock { state -> (StoreError?, Bool) in
            if let refusal = state.refusal { return (refusal, false) }
            state.pending.append(job)
            state.pendingBytes += job.bytes
            return (nil, state.beginDraining())
        }
        if let refusal { job.fail(refusal) }
        if starts { schedule() }
    }

    /// Whether nothing waits.
    var isIdle: Bool { state.withLock { $0.pending.isEmpty } }

    /// Octets that wait.
    var pendingBytes: Int { state.withLock { $0.pendingBytes } }

    /// Returns when there is room in the queue; explicit calls come through here before they encode anything.
    func admit() async {
        await withCheckedContinuation { continuation in
            let isAdmitted = state.withLock { state in
                if state.refusal != nil || state.pendingBytes <= database.limits.pending { return true }
                state.admissionWaiters.append(continuation)
                return false
            }
            if isAdmitted { continuation.resume() }
        }
    }

    /// Lets some of those who wait go on: few at a time, because each brings octets along.
    private func admitWaiters(all: Bool) {
        let admitted = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard all || state.pendingBytes <= database.limits.pending else { return [] }
            let admitted = Array(all ? state.admissionWaiters[...] : state.admissionWaiters.prefix(8))
            state.admissionWaiters.removeFirst(admitted.count)
            return admitted
        }
        for waiter in admitted { waiter.resume() }
    }

    /// Has bodies that no entry names removed, soon.
    func requestSweep() {
        let starts = state.withLock { state -> Bool in
            guard state.refusal == nil else { return false }
            state.wantsSweep = true
            return state.beginDraining()
        }
        if starts { schedule() }
    }

    /// Returns when the housekeeping that is due has been done.
    func settle() async {
        await withCheckedContinuation { continuation in
            let (isRefused, starts) = state.withLock { state -> (Bool, Bool) in
                guard state.refusal == nil else { return (true, false) }
                state.wantsSweep = true
                state.idleWaiters.append(continuation)
                return (false, state.beginDraining())
            }
            if isRefused { continuation.resume() }
            if starts { schedule() }
        }
    }

    /// Refuses everything from now on; what waits already is still done, unless the reason is damage.
    func refuse(_ reason: StoreError) {
        let jobs = state.withLock { state -> [WriteJob] in
            if state.refusal == nil { state.refusal = reason }
            guard reason.code == .damaged else { return [] }
            defer {
                state.pending = []
                state.pendingBytes = 0
            }
            return state.pending
        }
        for job in jobs { job.fail(reason) }
    }

    private func schedule() {
        queue.asyncWriteWithoutTransaction { database in self.drain(Connection(database)) }
    }

    private func takeBatch() -> [WriteJob] {
        state.withLock { state in
            var count = 0
            var bytes = 0
            for job in state.pending.prefix(database.limits.batch) {
                if count > 0, bytes + job.bytes > database.limits.transaction { break }
                count += 1
                bytes += job.bytes
            }
            let batch = Array(state.pending.prefix(count))
            state.pending.removeFirst(count)
            state.pendingBytes -= bytes
            if state.wantsSweep {
                state.wantsSweep = false
                memory.wantsSweep = true
                memory.wantsTagSweep = true
                memory.wantsDamageMarks = true
            }
            return batch
        }
    }

    // MARK: The writer's queue

    private func drain(_ connection: Connection) {
        while true {
            let batch = takeBatch()
            admitWaiters(all: batch.isEmpty)
            if !batch.isEmpty {
                makeRoom(for: batch.reduce(0) { $0 + $1.bytes }, connection)
                run(batch, connection)
            }
            // A store that is closing leaves its housekeeping to the next opening.
            let hasMore = state.withLock { $0.refusal == nil } && keepHouse(connection)
            if !hasMore {
                let waiters = state.withLock { state in
                    defer { state.idleWaiters = [] }
                    return state.idleWaiters
                }
                for waiter in waiters { waiter.resume() }
            }
            if batch.isEmpty, !hasMore, state.withLock({ $0.endDraining() }) { return }
        }
    }

    /// One transaction for all, a savepoint for each, and no caller goes on before the commit.
    private func run(_ batch: [WriteJob], _ connection: Connection) {
        let context = WriteContext(connection: connection, state: database, memory: memory)
        var outcomes: [Result<WriteJob.Completion, any Error>] = []
        var failure: (any Error)?
        // An invalidation that is in the database but not in the sidecar has not been promised; the rest of the batch has.
        var sidecarFailure: (any Error)?
        do {
            try transaction(connection, isDurable: batch.contains(where: \.isDurable)) {
                for job in batch { outcomes.append(try run(job, context, isAlone: batch.count == 1)) }
            }
            context.committed()
        } catch {
            failure = error
            context.rolledBack()
        }
        if failure == nil, let invalidation = context.invalidation {
            do { try events.invalidated(invalidation) } catch { sidecarFailure = error }
        }
        for (index, job) in batch.enumerated() {
            switch index < outcomes.count ? outcomes[index] : nil {
            case .success(let complete):
                complete((failure ?? (job.isDurable ? sidecarFailure : nil)).map { StoreError($0, path: path) })
            case .failure(let error): job.fail(StoreError(error, path: path))
            case nil: job.fail(StoreError(failure ?? WriteContext.missingRow, path: path))
            }
        }
        let errors = outcomes.compactMap { outcome -> (any Error)? in
            if case .failure(let error) = outcome { error } else { nil }
        }
        for error in errors + [failure].compactMap({ $0 }) { reportIfDamage(error) }
    }

    /// - Throws: when the whole transaction is lost.
    private func run(
        _ job: WriteJob,
        _ context: WriteContext,
        isAlone: Bool
    ) throws -> Result<WriteJob.Completion, any Error> {
        if isAlone { return .success(try job.run(context)) }
        let connection = context.connection
        try connection.run("SAVEPOINT operation")
        let mark = context.mark()
        do {
            let completion = try job.run(context)
            try connection.run("RELEASE operation")
            return .success(completion)
        } catch {
            // Some failures (a full disk, say) end the transaction itself.
            guard connection.isInTransaction else { throw error }
            try connection.run("ROLLBACK TO operation")
            try connection.run("RELEASE operation")
            context.rollBack(to: mark)
            return .failure(error)
        }
    }

    /// Begins, runs, commits; rolls back when anything fails, so that the connection is always left without a transaction.
    func transaction(_ connection: Connection, isDurable: Bool = false, _ body: () throws -> Void) throws {
        if isDurable { try connection.run("PRAGMA synchronous = FULL") }
        defer {
            if isDurable { try? connection.run("PRAGMA synchronous = NORMAL") }
        }
        do {
            try connection.run("BEGIN IMMEDIATE")
            let used = database.recency.count >= RecencyLog.flushCount ? database.recency.take() : [:]
            do {
                try flush(used, connection)
                try body()
                try connection.run("COMMIT")
            } catch {
                database.recency.putBack(used)
                throw error
            }
        } catch {
            if connection.isInTransaction { try? connection.run("ROLLBACK") }
            throw error
        }
        memory.pagesSinceCheckpoint += writtenPages(connection)
    }

    /// Writes the order of use that has gathered.
    func flush(_ used: [Int64: Int64], _ connection: Connection) throws {
        guard !used.isEmpty else { return }
        let instant = database.latestInstant
        for (id, recency) in used {
            try connection.run(
                "UPDATE entry SET recency = ?2, last_used_at = max(last_used_at, ?3) WHERE id = ?1 AND is_damaged = 0",
                id,
                recency,
                instant
            )
        }
    }

    func reportIfDamage(_ error: any Error) {
        if SQLiteFailure(error)?.isDamage == true || (error as? StoreError)?.code == .damaged {
            events.damaged(self, error)
        }
    }

    private func writtenPages(_ connection: Connection) -> Int64 {
        var current: Int32 = 0
        var highest: Int32 = 0
        guard let pointer = connection.pointer,
            sqlite3_db_status(pointer, SQLITE_DBSTATUS_CACHE_WRITE, &current, &highest, 1) == SQLITE_OK
        else { return 0 }
        return Int64(current)
    }

    // MARK: The end

    /// Does what waits, flushes, checkpoints, closes.
    func close(checkpointing: Bool) throws {
        defer { try? queue.close() }
        guard checkpointing else { return }
        try queue.writeWithoutTransaction { database in
            let connection = Connection(database)
            let used = self.database.recency.take()
            if !used.isEmpty { try transaction(connection) { try flush(used, connection) } }
            try checkpoint(connection, truncating: true)
        }
    }
}
