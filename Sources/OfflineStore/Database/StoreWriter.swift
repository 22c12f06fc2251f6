import CSQLite
import Dispatch
import Logging
import StoreFiles
import StoreMemory
import Synchronization

/// The single writing connection.
///
/// Waiting operations are combined into one transaction, and their callers continue after its
/// commit. While one transaction is written, the next operations gather. Callers that wrote
/// together get a moment to gather again. So many writers need few commits, and a single writer
/// does not wait for others. Between transactions the writer does the store's housekeeping in
/// bounded steps: eviction, sweeping, returning pages, and every checkpoint. (SQLite before 3.51.3
/// can corrupt a file if two connections checkpoint and write together.)
final class StoreWriter: Sendable {
    /// The events that the writer reports to the store.
    struct Events: Sendable {
        /// The journal has more to publish. This must be called before the invalidation becomes
        /// visible.
        var journaled: @Sendable () -> Void
        /// An invalidation was committed, durably or not. It must be published before its caller
        /// continues, and a durable one must be recorded in the sidecar.
        var invalidated: @Sendable (_ number: Int64, _ isDurable: Bool) throws -> Void
        /// This writer's database is damaged.
        var damaged: @Sendable (StoreWriter, any Error) -> Void
        /// This many entries, with this many bytes, were evicted.
        var evicted: @Sendable (Int, Int64) -> Void
    }

    let readers: ReaderPool
    let path: String
    let database: DatabaseState
    let memory: WriterMemory
    let logger: Logger
    let telemetry: StoreTelemetry?
    let events: Events
    let waiting: WriteQueue
    /// Syncs what was committed without a sync.
    let log: LogSync
    /// Held while the connection or the writer's memory is used.
    let access = Mutex(())
    let thread = DispatchQueue(label: "holdfast.store.writer")
    /// Whether a reader keeps the log from shrinking: see ``isLogHeld(_:_:)``.
    let logIsHeld = Atomic(false)
    /// See ``admits(_:at:)``.
    let trouble = Mutex(WritingTrouble())
    /// Whether there is trouble, so that the lock can be skipped while there is none.
    let hasTrouble = Atomic(false)
    /// Whether the last trouble was a full disk.
    let isDiskFull = Atomic(false)
    /// Whether the disk was full when the store was opened, and no response was written since.
    let wasFullAtOpening = Atomic(false)
    /// Whether entries were evicted on a full disk, until it has space again.
    let evictsForSpace = Atomic(false)
    /// Entries that cannot be evicted leave no room in the budget: see ``admits(_:at:)``.
    let fullness = Mutex(WritingTrouble())
    /// Whether they do, so that the lock can be skipped while they do not.
    let isFullOfPins = Atomic(false)
    /// The bytes that the budget had left when a write last found no room.
    let roomInBudget = Atomic<Int64>(0)
    /// The bytes that eviction can free on a full disk.
    let roomByEviction = Atomic<Int64>(0)
    /// Released after `deinit` has closed the connection of a store that is dropped without being
    /// closed.
    private let lock: FolderLock?

    init(
        connection: Connection,
        path: String,
        database: DatabaseState,
        readers: ReaderPool,
        row: DatabaseOpening.Row,
        logger: Logger,
        telemetry: StoreTelemetry? = nil,
        lock: FolderLock?,
        events: Events
    ) {
        self.lock = lock
        self.readers = readers
        self.path = path
        self.database = database
        self.waiting = WriteQueue(limits: database.limits)
        self.memory = WriterMemory(row, log: path + "-wal", limits: database.limits)
        self.log = LogSync(path: path + "-wal")
        self.logger = logger
        self.telemetry = telemetry
        self.events = events
        memory.connection = connection
        if database.filter != nil { memory.filterCursor = .min }
        database.leases.whenSweepableIsReleased { [weak self] in self?.requestSweep() }
    }

    deinit { memory.connection?.close() }

    // MARK: Operations

    /// Runs an operation in a transaction, and returns after its commit.
    ///
    /// - Parameters:
    ///   - bytes: the bytes that the operation carries.
    ///   - entries: the number of entries that it stores.
    ///   - isDurable: whether the commit is synced to disk.
    ///   - mayRunHere: whether to run on the calling thread if the writer is idle.
    ///   - pendingWrite: the value that readers see before the commit.
    func perform<Result: Sendable>(
        bytes: Int = 0,
        entries: Int = 1,
        isDurable: Bool = false,
        mayRunHere: Bool = false,
        pendingWrite: PendingWrite? = nil,
        _ operation: @escaping @Sendable (WriteContext) throws -> Result
    ) async throws -> Result {
        if mayRunHere, !isDurable, bytes <= Self.inlineLimit, waiting.takeIfEmpty(for: pendingWrite) {
            return try runHere(bytes: bytes, pendingWrite, operation).get()
        }
        return try await withCheckedThrowingContinuation { continuation in
            let job = WriteJob(
                bytes: bytes,
                entries: entries,
                isDurable: isDurable,
                pendingWrite: pendingWrite,
                operation: operation
            ) {
                continuation.resume(with: $0)
            }
            if waiting.append(job) { schedule() }
        }
    }

    /// The most bytes that are written on a caller's thread.
    private static let inlineLimit = 256 * 1024

    /// Runs an operation on the calling thread if no others wait, because two thread switches cost
    /// more than the transaction.
    private func runHere<Result: Sendable>(
        bytes: Int,
        _ pendingWrite: PendingWrite?,
        _ operation: @escaping @Sendable (WriteContext) throws -> Result
    ) -> Swift.Result<Result, any Error> {
        let outcome = Outcome<Result>()
        let job = WriteJob(bytes: bytes, isDurable: false, pendingWrite: pendingWrite, operation: operation) { result in
            outcome.value.withLock { $0 = result }
        }
        access.withLock { _ in
            if let connection = memory.connection { run([job], connection) } else { job.fail(StoreError.closed) }
        }
        let isDone = access.withLock { _ in !isHousekeepingDue } && waiting.endWork()
        if !isDone { schedule() }
        return outcome.value.withLock { $0 } ?? .failure(StoreError.closed)
    }

    private final class Outcome<Result: Sendable>: Sendable {
        let value = Mutex<Swift.Result<Result, any Error>?>(nil)
    }

    /// The bytes that wait.
    var pendingBytes: Int { waiting.bytes }

    /// Waits until the queue has space. Explicit calls do this before they encode anything.
    func admit() async { await waiting.admit() }

    /// Requests a sweep of bodies without an entry.
    func requestSweep() {
        if waiting.requestSweep() { schedule() }
    }

    /// Waits until the pending housekeeping is done.
    func settle() async {
        await waiting.settle { schedule() }
    }

    /// Rejects all new operations. Waiting ones still run, unless the reason is damage.
    func refuse(_ reason: StoreError) { waiting.refuse(reason) }

    func schedule() {
        thread.async { self.drain() }
    }

    /// Runs `body` while no operation runs. If it succeeds, all operations that have not run yet
    /// are rejected.
    func refuseAfter(_ reason: StoreError, _ body: () throws -> Void) throws {
        try access.withLock { _ in
            try body()
            refuse(reason)
        }
    }

    /// Passes the connection to a closure while nothing else uses it.
    func withConnection(_ body: (Connection) throws -> Void) throws {
        try access.withLock { _ in
            guard let connection = memory.connection else { throw StoreError.closed }
            try body(connection)
        }
    }

    // MARK: The writer's thread

    private func drain() {
        while true {
            waiting.gather()
            let begun = ContinuousClock.now
            let step = access.withLock { _ in takeStep() }
            waiting.admitWaiters(all: step.isIdle)
            if !step.hasMore { waiting.resumeIdleCallers() }
            if step.isIdle, !step.hasMore, waiting.endWork() { return }
            if step.isIdle, step.isCalm { waiting.rest(min((ContinuousClock.now - begun) * 2, Self.longestRest)) }
        }
    }

    /// The longest pause between two steps of housekeeping.
    private static let longestRest = Duration.milliseconds(10)

    private struct Step {
        /// Whether no operation waited.
        var isIdle: Bool
        /// Whether there is more housekeeping to do.
        var hasMore = false
        /// Whether none of it is urgent, as making space is. Invalidated entries count as
        /// invalidated before their rows are marked.
        var isCalm = false
    }

    /// Runs one transaction of waiting operations, and one step of housekeeping.
    private func takeStep() -> Step {
        let batch = takeBatch()
        guard let connection = memory.connection else {
            for job in batch { job.fail(StoreError.closed) }
            return Step(isIdle: batch.isEmpty)
        }
        if !batch.isEmpty { run(batch, connection) }
        // A store that is closing leaves its housekeeping to the next opening.
        guard isHousekeepingDue, !waiting.isRefusing, doHousekeeping(connection) else {
            return Step(isIdle: batch.isEmpty)
        }
        let isCalm = !memory.isEvicting && !memory.isDiskShort && !hasQuotaWork
        return Step(isIdle: batch.isEmpty, hasMore: true, isCalm: isCalm)
    }

    private func takeBatch() -> [WriteJob] {
        let (batch, wantsSweep) = waiting.takeBatch()
        if wantsSweep {
            memory.wantsSweep = true
            memory.wantsTagSweep = true
            memory.wantsEntrySweep = true
            memory.wantsDamageMarks = true
            if memory.filterCursor == nil, database.filter?.isWhole == false { memory.filterCursor = .min }
        }
        return batch
    }

    /// Whether housekeeping has something to do or to measure.
    private var isHousekeepingDue: Bool {
        memory.wantsSweep || memory.wantsTagSweep || memory.wantsEntrySweep || memory.isEvicting || memory.wantsVacuum
            || memory.wantsCheckpoint
            || memory.wantsDamageMarks || memory.wantsErasure
            || memory.filterCursor != nil || hasQuotaWork
            || memory.pagesSinceCheckpoint * StoreLimits.pageSize >= database.limits.checkpoint
            || memory.usageEstimate.map { $0 > database.limits.highWater } ?? true
            || logIsHeld.load(ordering: .relaxed)
    }

    /// Runs operations in one transaction. Callers continue after the commit.
    ///
    /// - Parameter attempts: how often the disk was full and space was made for it.
    private func run(_ batch: [WriteJob], _ connection: Connection, attempts: Int = 0) {
        let bytes = batch.reduce(0) { $0 + $1.bytes }
        let isNearBudget = memory.usageEstimate.map { $0 + Int64(bytes) * 9 / 8 > database.limits.highWater } ?? true
        let batch = isNearBudget || logIsHeld.load(ordering: .relaxed) ? makeRoom(for: batch, connection) : batch
        if batch.isEmpty { return }
        let context = WriteContext(connection: connection, state: database, memory: memory)
        var completions: [WriteJob.Completion] = []
        completions.reserveCapacity(batch.count)
        var isWithinJob = false
        let start = telemetry == nil ? nil : ContinuousClock.now
        let isDurable = batch.contains(where: \.isDurable)
        do {
            try transaction(connection, isDurable: isDurable) {
                try context.writeUnwrittenInvalidations()
                for job in batch {
                    isWithinJob = true
                    completions.append(try job.run(context))
                    isWithinJob = false
                }
                try context.writeTagBytes()
            }
        } catch {
            context.dropEffects()
            if isWithinJob, batch.count > 1 {
                // One of them failed, and only its caller must see the error.
                for job in batch { run([job], connection) }
                return
            }
            if makeRoomOnDisk(for: bytes, after: error, attempts, connection) {
                return run(batch, connection, attempts: attempts + 1)
            }
            if batch.count > 1, StoreError(error, path: path).code == .full {
                // An operation that is too large for the disk must not fail the others.
                for job in batch { run([job], connection) }
                return
            }
            for job in batch { job.fail(StoreError(error, path: path)) }
            noteTrouble(error, bytes: batch.reduce(0) { $0 + $1.bytes })
            reportIfDamage(error)
            return
        }
        context.applyCommit()
        if let start { telemetry?.recordWrite(since: start) }
        if hasTrouble.load(ordering: .relaxed) { noteSuccess(bytes: batch.reduce(0) { $0 + $1.bytes }) }
        if bytes > 0, wasFullAtOpening.load(ordering: .relaxed) { wasFullAtOpening.store(false, ordering: .relaxed) }
        if isFullOfPins.load(ordering: .relaxed) { noteRoom(bytes: batch.reduce(0) { $0 + $1.bytes }) }
        // Before publishing. Values that are still pending then come later in the queue, so this
        // invalidation does not apply to them, unless they have a fencing number.
        for job in batch { job.pendingWrite?.end() }
        // An invalidation in the database but not in the sidecar is not guaranteed; the rest of the
        // batch is.
        var sidecarFailure: StoreError?
        if context.addsToJournal { events.journaled() }
        if let invalidation = context.invalidation {
            do {
                try events.invalidated(invalidation, isDurable)
            } catch {
                sidecarFailure = StoreError(error, path: path)
            }
        }
        for (job, complete) in zip(batch, completions) { complete(job.isDurable ? sidecarFailure : nil) }
    }

    // MARK: The end

    /// Runs waiting operations, writes the order of use, makes a checkpoint, and closes.
    ///
    /// A disk that accepts no writes is not an error: everything committed is in the log, which the
    /// next opening reads.
    func close(checkpointing: Bool) throws {
        try access.withLock { _ in
            guard let connection = memory.connection else { return }
            defer {
                connection.close()
                memory.connection = nil
            }
            guard checkpointing else { return }
            while case let batch = takeBatch(), !batch.isEmpty { run(batch, connection) }
            do {
                try writeUnwrittenInvalidations(connection)
                try flushRecency(connection)
                try checkpoint(connection, truncating: true, isLast: true)
            } catch  where StoreError(error, path: path).isOfDisk {
                logger.warning(
                    "cannot write to the disk; closed the store without final cleanup",
                    metadata: ["store.path": "\(path)", "error": "\(StoreError(error, path: path))"]
                )
                database.unwritten.reportLoss(at: path, to: logger)
            }
        }
    }
}
