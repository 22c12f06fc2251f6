import Dispatch
import StoreMemory
import Synchronization

/// The operations that wait for the writer, in order, and the callers that wait for space in the
/// queue.
///
/// One thread at a time works on the queue: the writer's, or that of a caller that finds it empty.
/// A caller that adds the first operation to an idle queue must start the work.
final class WriteQueue: Sendable {
    private struct State {
        var pending: [WriteJob] = []
        var bytes = 0
        /// Whether a thread works on the queue, or is about to.
        var isTaken = false
        var wantsSweep = false
        /// The number of operations in the last transaction. Serving several writers together is
        /// better than serving the first one immediately.
        var lastCount = 0
        /// The number of operations that are expected now.
        var awaitedCount: Int?
        var refusal: StoreError?
        var idleWaiters: [CheckedContinuation<Void, Never>] = []
        /// Explicit calls that wait for space in the queue.
        var admissionWaiters: [CheckedContinuation<Void, Never>] = []

        mutating func take() -> Bool {
            if isTaken { return false }
            isTaken = true
            return true
        }
    }

    private let limits: StoreLimits
    private let state = Mutex(State())
    /// Signals that the expected number of operations is waiting.
    private let haveGathered = DispatchSemaphore(value: 0)

    init(limits: StoreLimits) { self.limits = limits }

    /// Whether no operation waits.
    var isEmpty: Bool { state.withLock { $0.pending.isEmpty } }

    /// The bytes that wait.
    var bytes: Int { state.withLock { $0.bytes } }

    /// Whether operations are rejected.
    var isRefusing: Bool { state.withLock { $0.refusal != nil } }

    // MARK: Callers

    /// Appends an operation. If operations are rejected, it fails.
    ///
    /// - Returns: whether the caller must start work on the queue.
    func append(_ job: WriteJob) -> Bool {
        let (refusal, isDue, isLastAwaited) = state.withLock { state -> (StoreError?, Bool, Bool) in
            if let refusal = state.refusal { return (refusal, false, false) }
            state.pending.append(job)
            state.bytes += job.bytes
            // In queue order, which is the order in which they are stored.
            job.pendingWrite?.begin()
            let isLastAwaited = state.awaitedCount.map { state.pending.count >= $0 } ?? false
            if isLastAwaited { state.awaitedCount = nil }
            return (nil, state.take(), isLastAwaited)
        }
        if let refusal { job.fail(refusal) }
        if isLastAwaited { haveGathered.signal() }
        return isDue
    }

    /// Takes an empty queue for an operation that the caller runs itself. That operation is now
    /// first in the queue.
    ///
    /// - Returns: `false` if other operations wait, or are about to arrive.
    func takeIfEmpty(for pendingWrite: PendingWrite?) -> Bool {
        state.withLock { state in
            guard state.refusal == nil, state.lastCount <= 1, state.take() else { return false }
            pendingWrite?.begin()
            return true
        }
    }

    /// Waits until there is space. Explicit calls do this before they encode anything.
    func admit() async {
        if state.withLock({ $0.refusal != nil || $0.bytes <= limits.pending }) { return }
        await withCheckedContinuation { continuation in
            let isAdmitted = state.withLock { state in
                if state.refusal != nil || state.bytes <= limits.pending { return true }
                state.admissionWaiters.append(continuation)
                return false
            }
            if isAdmitted { continuation.resume() }
        }
    }

    /// Requests a sweep of bodies without an entry.
    ///
    /// - Returns: see ``append(_:)``.
    func requestSweep() -> Bool {
        state.withLock { state -> Bool in
            guard state.refusal == nil else { return false }
            state.wantsSweep = true
            return state.take()
        }
    }

    /// Waits until nothing is left to do, including housekeeping.
    ///
    /// - Parameter work: starts work on the queue.
    func settle(_ work: () -> Void) async {
        await withCheckedContinuation { continuation in
            let (isRefused, isDue) = state.withLock { state -> (Bool, Bool) in
                guard state.refusal == nil else { return (true, false) }
                state.wantsSweep = true
                state.idleWaiters.append(continuation)
                return (false, state.take())
            }
            if isRefused { continuation.resume() }
            if isDue { work() }
        }
    }

    /// Rejects all new operations. Waiting ones still run, unless the reason is damage.
    func refuse(_ reason: StoreError) {
        let jobs = state.withLock { state -> [WriteJob] in
            if state.refusal == nil { state.refusal = reason }
            guard reason.code == .damaged else { return [] }
            defer {
                state.pending = []
                state.bytes = 0
            }
            return state.pending
        }
        for job in jobs { job.fail(reason) }
    }

    // MARK: The thread that works on it

    /// The longest time that the first operation waits for others: about the duration of a
    /// transaction.
    private static let gatheringMicroseconds = 300

    /// Waits until as many operations wait as were in the last transaction, or for a moment.
    ///
    /// Callers that continue after a commit come back one after another. If the first were taken
    /// immediately, they would be split into transactions of one or two, each of which costs almost
    /// as much as one of eight.
    func gather() {
        let isComplete = state.withLock { state in
            guard state.refusal == nil, !state.pending.isEmpty, state.pending.count < state.lastCount else {
                return true
            }
            state.awaitedCount = state.lastCount
            return false
        }
        if !isComplete { waitForAwaited(.microseconds(Self.gatheringMicroseconds)) }
    }

    /// Waits until an operation arrives, up to this duration, so that long housekeeping leaves time
    /// for others. It does not wait if a caller waits for the end of all work.
    func rest(_ duration: Duration) {
        let isNeeded = state.withLock { state in
            guard state.refusal == nil, state.pending.isEmpty, state.idleWaiters.isEmpty else { return false }
            state.awaitedCount = 1
            return true
        }
        if isNeeded { waitForAwaited(.microseconds(Int(duration / .microseconds(1)))) }
    }

    private func waitForAwaited(_ limit: DispatchTimeInterval) {
        guard haveGathered.wait(timeout: .now() + limit) == .timedOut else { return }
        let isSignalled = state.withLock { state in
            defer { state.awaitedCount = nil }
            return state.awaitedCount == nil
        }
        // They arrived at the last moment. The signal must not end the next wait.
        if isSignalled { haveGathered.wait() }
    }

    /// Returns as many waiting operations as fit in one transaction, and whether a sweep was
    /// requested.
    func takeBatch() -> (jobs: [WriteJob], wantsSweep: Bool) {
        state.withLock { state in
            var count = 0
            var bytes = 0
            var entries = 0
            for job in state.pending {
                bytes += job.bytes
                entries += job.entries
                if count > 0, bytes > limits.transaction || entries > limits.batch {
                    bytes -= job.bytes
                    break
                }
                count += 1
            }
            let batch = Array(state.pending.prefix(count))
            state.pending.removeFirst(count)
            state.bytes -= bytes
            if count > 0 { state.lastCount = count }
            defer { state.wantsSweep = false }
            return (batch, state.wantsSweep)
        }
    }

    /// Admits some of the waiting callers: only a few at a time, because each brings bytes.
    func admitWaiters(all: Bool) {
        let admitted = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard all || state.bytes <= limits.pending else { return [] }
            let admitted = Array(all ? state.admissionWaiters[...] : state.admissionWaiters.prefix(8))
            state.admissionWaiters.removeFirst(admitted.count)
            return admitted
        }
        for waiter in admitted { waiter.resume() }
    }

    /// Resumes callers that wait for the end of all work.
    func resumeIdleCallers() {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            // A caller that arrived after the last step has requested another one.
            if state.wantsSweep { return [] }
            defer { state.idleWaiters = [] }
            return state.idleWaiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Ends work on the queue; returns `false` if something arrived in the meantime.
    func endWork() -> Bool {
        state.withLock { state in
            guard state.pending.isEmpty, !state.wantsSweep else { return false }
            state.isTaken = false
            return true
        }
    }
}
