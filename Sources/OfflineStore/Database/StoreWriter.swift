import Dispatch
import GRDB
import GRDBSQLite
import Logging
import Synchronization

/// The one writing connection.
///
/// Operations that wait are taken together into one transaction, and their callers go on after its
/// commit. While one transaction is written the next ones gather, and those who wrote together are
/// given a moment to come together again; so many writers cost few commits, and a single one waits
/// for nobody. Between transactions the writer does the store's housekeeping, one bounded step at a
/// time: eviction, sweeping, giving pages back, and every checkpoint (SQLite before 3.51.3 can
/// corrupt a file when two connections checkpoint and write together).
final class StoreWriter: Sendable {
    /// What the writer tells the store.
    struct Events: Sendable {
        /// An invalidation was committed: to be noted in the sidecar and published before its
        /// caller goes on.
        var invalidated: @Sendable (Int64) throws -> Void
        /// This writer's database is damaged.
        var damaged: @Sendable (StoreWriter, any Error) -> Void
        /// So many entries, of so many bytes, were evicted.
        var evicted: @Sendable (Int, Int64) -> Void
    }

    let queue: DatabaseQueue
    let readers: ReaderPool
    let path: String
    let database: DatabaseState
    let memory: WriterMemory
    let logger: Logger
    let events: Events
    let waiting: WriteQueue
    /// Held by whoever uses the connection and what is remembered about it.
    private let access = Mutex(())
    private let thread = DispatchQueue(label: "holdfast.store.writer")
    /// A reader keeps the log from shrinking: see ``isLogHeld(_:_:)``.
    let logIsHeld = Atomic(false)
    /// See ``admits(at:)``.
    let trouble = Mutex(WritingTrouble())
    /// Whether there is any, so that nobody takes the lock while there is none.
    let hasTrouble = Atomic(false)
    /// Bytes that eviction makes room for on a full disk.
    let roomByEviction = Atomic<Int64>(0)
    /// Kept here, after the connection, so that a store that is dropped without being closed lets
    /// go of its folder last.
    private let lock: FolderLock?

    init(
        queue: DatabaseQueue,
        path: String,
        database: DatabaseState,
        readers: ReaderPool,
        row: DatabaseOpening.Row,
        logger: Logger,
        lock: FolderLock?,
        events: Events
    ) {
        self.lock = lock
        self.queue = queue
        self.readers = readers
        self.path = path
        self.database = database
        self.waiting = WriteQueue(limits: database.limits)
        self.memory = WriterMemory(row, log: path + "-wal")
        self.logger = logger
        self.events = events
        memory.connection = queue.unsafeRead { Connection($0, isTakenOver: true) }
        if database.filter != nil { memory.filterCursor = .min }
        database.leases.whenCondemnedIsReleased { [weak self] in self?.requestSweep() }
    }

    deinit { memory.connection?.close() }

    // MARK: Operations

    /// Runs an operation in a transaction and returns after its commit.
    ///
    /// - Parameters:
    ///   - bytes: bytes that the operation carries.
    ///   - entries: that it stores.
    ///   - isDurable: the commit is synced to the disk.
    ///   - mayRunHere: on the calling thread, if the writer has nothing else to do.
    ///   - shown: what readers see of it before its commit.
    func perform<Result: Sendable>(
        bytes: Int = 0,
        entries: Int = 1,
        isDurable: Bool = false,
        mayRunHere: Bool = false,
        shown: PendingWrite? = nil,
        _ operation: @escaping @Sendable (WriteContext) throws -> Result
    ) async throws -> Result {
        if mayRunHere, !isDurable, bytes <= Self.inlineLimit, waiting.take(for: shown) {
            return try runHere(bytes: bytes, shown, operation).get()
        }
        return try await withCheckedThrowingContinuation { continuation in
            let job = WriteJob(
                bytes: bytes,
                entries: entries,
                isDurable: isDurable,
                shown: shown,
                operation: operation
            ) {
                continuation.resume(with: $0)
            }
            if waiting.append(job) { schedule() }
        }
    }

    /// Bytes that are written on a caller's thread at most.
    private static let inlineLimit = 256 * 1024

    /// The way of a writer that is alone: two changes of threads cost more than the transaction.
    private func runHere<Result: Sendable>(
        bytes: Int,
        _ shown: PendingWrite?,
        _ operation: @escaping @Sendable (WriteContext) throws -> Result
    ) -> Swift.Result<Result, any Error> {
        let outcome = Outcome<Result>()
        let job = WriteJob(bytes: bytes, isDurable: false, shown: shown, operation: operation) { result in
            outcome.value.withLock { $0 = result }
        }
        access.withLock { _ in
            if let connection = memory.connection { run([job], connection) } else { job.fail(StoreCore.closed) }
        }
        let isDone = access.withLock { _ in !isHousekeepingDue } && waiting.giveBack()
        if !isDone { schedule() }
        return outcome.value.withLock { $0 } ?? .failure(StoreCore.closed)
    }

    private final class Outcome<Result: Sendable>: Sendable {
        let value = Mutex<Swift.Result<Result, any Error>?>(nil)
    }

    /// Bytes that wait.
    var pendingBytes: Int { waiting.bytes }

    /// Returns when there is room in the queue; explicit calls come through here before they encode
    /// anything.
    func admit() async { await waiting.admit() }

    /// Has bodies that no entry names removed, soon.
    func requestSweep() {
        if waiting.requestSweep() { schedule() }
    }

    /// Returns when the housekeeping that is due has been done.
    func settle() async {
        await waiting.settle { schedule() }
    }

    /// Refuses everything from now on; what waits already is still done, unless the reason is
    /// damage.
    func refuse(_ reason: StoreError) { waiting.refuse(reason) }

    func schedule() {
        thread.async { self.drain() }
    }

    /// Runs something while no operation runs, and refuses every one that has not run yet if it
    /// comes to an end.
    func refuseAfter(_ reason: StoreError, _ body: () throws -> Void) throws {
        try access.withLock { _ in
            try body()
            refuse(reason)
        }
    }

    /// Lends the connection when nobody else uses it.
    func withConnection(_ body: (Connection) throws -> Void) throws {
        try access.withLock { _ in
            guard let connection = memory.connection else { throw StoreCore.closed }
            try body(connection)
        }
    }

    // MARK: The writer's turn

    private func drain() {
        while true {
            waiting.gather()
            let (batch, hasMore) = access.withLock { _ in step() }
            waiting.admitWaiters(all: batch.isEmpty)
            if !hasMore { waiting.settled() }
            if batch.isEmpty, !hasMore, waiting.giveBack() { return }
        }
    }

    /// What waits, as much as one transaction takes, and one step of housekeeping.
    private func step() -> (batch: [WriteJob], hasMore: Bool) {
        let batch = takeBatch()
        guard let connection = memory.connection else {
            for job in batch { job.fail(StoreCore.closed) }
            return (batch, false)
        }
        if !batch.isEmpty { run(batch, connection) }
        // A store that is closing leaves its housekeeping to the next opening.
        let hasMore = isHousekeepingDue && !waiting.isRefusing && keepHouse(connection)
        return (batch, hasMore)
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

    /// Whether there is a reason to look at what the folder takes.
    private var isHousekeepingDue: Bool {
        memory.wantsSweep || memory.wantsTagSweep || memory.wantsEntrySweep || memory.isEvicting || memory.wantsVacuum
            || memory.wantsCheckpoint
            || memory.wantsDamageMarks || memory.wantsErasure
            || memory.filterCursor != nil || hasQuotaWork
            || memory.pagesSinceCheckpoint * StoreLimits.pageSize >= database.limits.checkpoint
            || memory.usageEstimate.map { $0 > database.limits.highWater } ?? true
            || logIsHeld.load(ordering: .relaxed)
    }

    /// One transaction for all, and no caller goes on before the commit.
    ///
    /// - Parameter attempts: how often the disk did not take it, and room was made for it.
    private func run(_ batch: [WriteJob], _ connection: Connection, attempts: Int = 0) {
        let bytes = batch.reduce(0) { $0 + $1.bytes }
        let isNearBudget = memory.usageEstimate.map { $0 + Int64(bytes) * 9 / 8 > database.limits.highWater } ?? true
        let batch = isNearBudget || logIsHeld.load(ordering: .relaxed) ? makeRoom(for: batch, connection) : batch
        if batch.isEmpty { return }
        let context = WriteContext(connection: connection, state: database, memory: memory)
        var completions: [WriteJob.Completion] = []
        completions.reserveCapacity(batch.count)
        var isWithinJob = false
        do {
            try transaction(connection, isDurable: batch.contains(where: \.isDurable)) {
                for job in batch {
                    isWithinJob = true
                    completions.append(try job.run(context))
                    isWithinJob = false
                }
                try context.writeTagBytes()
            }
        } catch {
            context.rolledBack()
            if isWithinJob, batch.count > 1 {
                // One of them failed: it alone is to know of it.
                for job in batch { run([job], connection) }
                return
            }
            if makeRoomOnDisk(for: bytes, after: error, attempts, connection) {
                return run(batch, connection, attempts: attempts + 1)
            }
            if batch.count > 1, StoreError(error, path: path).code == .full {
                // What is too large for the disk is not to take the others with it.
                for job in batch { run([job], connection) }
                return
            }
            for job in batch { job.fail(StoreError(error, path: path)) }
            noteTrouble(error, bytes: batch.reduce(0) { $0 + $1.bytes })
            reportIfDamage(error)
            return
        }
        context.committed()
        if hasTrouble.load(ordering: .relaxed) { noteSuccess(bytes: batch.reduce(0) { $0 + $1.bytes }) }
        // Before the publication: what is still seen of others then comes after this in the queue,
        // so no invalidation here is about it unless it has a fence.
        for job in batch { job.shown?.end() }
        // An invalidation that is in the database but not in the sidecar has not been promised; the
        // rest of the batch has.
        var sidecarFailure: StoreError?
        if let invalidation = context.invalidation {
            do { try events.invalidated(invalidation) } catch { sidecarFailure = StoreError(error, path: path) }
        }
        for (job, complete) in zip(batch, completions) { complete(job.isDurable ? sidecarFailure : nil) }
    }

    // MARK: The end

    /// Does what waits, flushes, checkpoints, closes.
    func close(checkpointing: Bool) throws {
        try access.withLock { _ in
            guard let connection = memory.connection else { return }
            defer {
                connection.close()
                memory.connection = nil
                try? queue.close()
            }
            guard checkpointing else { return }
            while case let batch = takeBatch(), !batch.isEmpty { run(batch, connection) }
            try flushRecency(connection)
            try checkpoint(connection, truncating: true, isLast: true)
        }
    }
}
