import Dispatch
import GRDB
import GRDBSQLite
import Logging
import Synchronization

/// The one writing connection, and the queue before it.
///
/// Operations that wait are taken together into one transaction, and their callers go on after its commit. While one transaction is
/// written the next ones gather, and those who wrote together are given a moment to come together again; so many writers cost few
/// commits, and a single one waits for nobody.
/// Between transactions the writer does the store's housekeeping, one bounded step at a time: eviction, sweeping, giving pages back, and
/// every checkpoint (SQLite before 3.51.3 can corrupt a file when two connections checkpoint and write together).
final class StoreWriter: Sendable {
    /// What the writer tells the store.
    struct Events: Sendable {
        /// An invalidation was committed: to be noted in the sidecar and published before its caller goes on.
        var invalidated: @Sendable (Int64) throws -> Void
        /// This writer's database is damaged.
        var damaged: @Sendable (StoreWriter, any Error) -> Void
        /// So many entries, of so many octets, were evicted.
        var evicted: @Sendable (Int, Int64) -> Void
    }

    private struct State {
        var pending: [WriteJob] = []
        var pendingBytes = 0
        var isDraining = false
        var wantsSweep = false
        /// Operations in the last transaction: several writers are better served together than the first of them at once.
        var lastCount = 0
        /// So many are waited for just now.
        var awaitedCount: Int?
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
    let readers: ReaderPool
    let path: String
    let database: DatabaseState
    let memory: WriterMemory
    let logger: Logger
    let events: Events
    private let state = Mutex(State())
    /// Held by whoever uses the connection and what is remembered about it.
    private let access = Mutex(())
    private let thread = DispatchQueue(label: "holdfast.store.writer")
    /// As many wait as were waited for.
    private let haveGathered = DispatchSemaphore(value: 0)
    /// A reader keeps the log from shrinking: see ``isLogHeld(_:_:)``.
    let logIsHeld = Atomic(false)
    /// Kept here, after the connection, so that a store that is dropped without being closed lets go of its folder last.
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
        self.memory = WriterMemory(row, log: path + "-wal")
        self.logger = logger
        self.events = events
        memory.connection = queue.unsafeRead { Connection($0, isTakenOver: true) }
        if database.filter != nil { memory.filterCursor = .min }
        database.leases.whenCondemnedIsReleased { [weak self] in self?.requestSweep() }
    }

    deinit { memory.connection?.close() }

    // MARK: The queue

    /// Runs an operation in a transaction and returns after its commit.
    ///
    /// - Parameters:
    ///   - bytes: octets that the operation carries.
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
        if mayRunHere, !isDurable, bytes <= Self.inlineLimit, beginsHere(shown) {
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
            submit(job)
        }
    }

    /// Whether nothing waits, so that an operation may run on its caller's thread; it is the first in the queue from now on.
    private func beginsHere(_ shown: PendingWrite?) -> Bool {
        state.withLock { state in
            guard state.refusal == nil, state.lastCount <= 1, state.beginDraining() else { return false }
            shown?.begin()
            return true
        }
    }

    /// Octets that are written on a caller's thread at most.
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
        let isDone = access.withLock { _ in !isHousekeepingDue } && state.withLock { $0.endDraining() }
        if !isDone { schedule() }
        return outcome.value.withLock { $0 } ?? .failure(StoreCore.closed)
    }

    private final class Outcome<Result: Sendable>: Sendable {
        let value = Mutex<Swift.Result<Result, any Error>?>(nil)
    }

    private func submit(_ job: WriteJob) {
        let (refusal, starts, isLastAwaited) = state.withLock { state -> (StoreError?, Bool, Bool) in
            if let refusal = state.refusal { return (refusal, false, false) }
            state.pending.append(job)
            state.pendingBytes += job.bytes
            // In the order of the queue, which is the one in which they are stored.
            job.shown?.begin()
            let isLastAwaited = state.awaitedCount.map { state.pending.count >= $0 } ?? false
            if isLastAwaited { state.awaitedCount = nil }
            return (nil, state.beginDraining(), isLastAwaited)
        }
        if let refusal { job.fail(refusal) }
        if isLastAwaited { haveGathered.signal() }
        if starts { schedule() }
    }

    /// How long the first waits for the others, at most: about what one transaction takes.
    private static let gatheringMicroseconds = 300

    /// Waits until as many operations wait as were in the last transaction, or for a moment.
    ///
    /// Those who go on after a commit come again one after the other. Taking the first of them at once splits them into transactions of one
    /// or two, and each costs what one of eight does, near enough.
    private func gather() {
        let isComplete = state.withLock { state in
            guard state.refusal == nil, !state.pending.isEmpty, state.pending.count < state.lastCount else {
                return true
            }
            state.awaitedCount = state.lastCount
            return false
        }
        if isComplete { return }
        guard haveGathered.wait(timeout: .now() + .microseconds(Self.gatheringMicroseconds)) == .timedOut else {
            return
        }
        let isSignalled = state.withLock { state in
            defer { state.awaitedCount = nil }
            return state.awaitedCount == nil
        }
        // They came at the last moment: the signal is not to be the next wait's.
        if isSignalled { haveGathered.wait() }
    }

    /// Whether nothing waits.
    var isIdle: Bool { state.withLock { $0.pending.isEmpty } }

    /// Octets that wait.
    var pendingBytes: Int { state.withLock { $0.pendingBytes } }

    /// Returns when there is room in the queue; explicit calls come through here before they encode anything.
    func admit() async {
        if state.withLock({ $0.refusal != nil || $0.pendingBytes <= database.limits.pending }) { return }
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
        thread.async { self.drain() }
    }

    private func takeBatch() -> [WriteJob] {
        state.withLock { state in
            var count = 0
            var bytes = 0
            var entries = 0
            for job in state.pending {
                bytes += job.bytes
                entries += job.entries
                if count > 0, bytes > database.limits.transaction || entries > database.limits.batch {
                    bytes -= job.bytes
                    break
                }
                count += 1
            }
            let batch = Array(state.pending.prefix(count))
            state.pending.removeFirst(count)
            state.pendingBytes -= bytes
            if count > 0 { state.lastCount = count }
            if state.wantsSweep {
                state.wantsSweep = false
                memory.wantsSweep = true
                memory.wantsTagSweep = true
                memory.wantsEntrySweep = true
                memory.wantsDamageMarks = true
                if memory.filterCursor == nil, database.filter?.isWhole == false { memory.filterCursor = .min }
            }
            return batch
        }
    }

    /// Runs something while no operation runs, and refuses every one that has not run yet if it comes to an end.
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
            gather()
            let (batch, hasMore) = access.withLock { _ in step() }
            admitWaiters(all: batch.isEmpty)
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

    /// What waits, as much as one transaction takes, and one step of housekeeping.
    private func step() -> (batch: [WriteJob], hasMore: Bool) {
        let batch = takeBatch()
        guard let connection = memory.connection else {
            for job in batch { job.fail(StoreCore.closed) }
            return (batch, false)
        }
        if !batch.isEmpty { run(batch, connection) }
        // A store that is closing leaves its housekeeping to the next opening.
        let hasMore = isHousekeepingDue && state.withLock { $0.refusal == nil } && keepHouse(connection)
        return (batch, hasMore)
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
    private func run(_ batch: [WriteJob], _ connection: Connection) {
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
                try context.writeTagOctets()
            }
        } catch {
            context.rolledBack()
            if isWithinJob, batch.count > 1 {
                // One of them failed: it alone is to know of it.
                for job in batch { run([job], connection) }
                return
            }
            for job in batch { job.fail(StoreError(error, path: path)) }
            reportIfDamage(error)
            return
        }
        context.committed()
        // Before the publication: what is still seen of others then comes after this in the queue, so no invalidation here is about it unless it
        // has a fence.
        for job in batch { job.shown?.end() }
        // An invalidation that is in the database but not in the sidecar has not been promised; the rest of the batch has.
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
            try checkpoint(connection, truncating: true)
        }
    }
}
