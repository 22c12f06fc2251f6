import Dispatch
import Synchronization

/// The operations that wait for the writer, in their order, and the callers that wait for room
/// among them.
///
/// It is taken by one at a time: the writer's thread, or a caller who finds nothing in it. Whoever
/// puts the first operation into an idle queue is told to have it taken.
final class WriteQueue: Sendable {
    private struct State {
        var pending: [WriteJob] = []
        var bytes = 0
        /// Somebody works on it, or is about to.
        var isTaken = false
        var wantsSweep = false
        /// Operations in the last transaction: several writers are better served together than the
        /// first of them at once.
        var lastCount = 0
        /// So many are waited for just now.
        var awaitedCount: Int?
        var refusal: StoreError?
        var idleWaiters: [CheckedContinuation<Void, Never>] = []
        /// Explicit calls that wait for room in the queue.
        var admissionWaiters: [CheckedContinuation<Void, Never>] = []

        mutating func take() -> Bool {
            if isTaken { return false }
            isTaken = true
            return true
        }
    }

    private let limits: StoreLimits
    private let state = Mutex(State())
    /// As many wait as were waited for.
    private let haveGathered = DispatchSemaphore(value: 0)

    init(limits: StoreLimits) { self.limits = limits }

    /// Whether nothing waits.
    var isEmpty: Bool { state.withLock { $0.pending.isEmpty } }

    /// Bytes that wait.
    var bytes: Int { state.withLock { $0.bytes } }

    /// Whether nothing is taken any more.
    var isRefusing: Bool { state.withLock { $0.refusal != nil } }

    // MARK: Callers

    /// Puts an operation behind the others; where nothing is taken any more, it fails.
    ///
    /// - Returns: whether the caller is to have the queue worked on.
    func append(_ job: WriteJob) -> Bool {
        let (refusal, isDue, isLastAwaited) = state.withLock { state -> (StoreError?, Bool, Bool) in
            if let refusal = state.refusal { return (refusal, false, false) }
            state.pending.append(job)
            state.bytes += job.bytes
            // In the order of the queue, which is the one in which they are stored.
            job.shown?.begin()
            let isLastAwaited = state.awaitedCount.map { state.pending.count >= $0 } ?? false
            if isLastAwaited { state.awaitedCount = nil }
            return (nil, state.take(), isLastAwaited)
        }
        if let refusal { job.fail(refusal) }
        if isLastAwaited { haveGathered.signal() }
        return isDue
    }

    /// Takes a queue in which nothing waits, for an operation that its caller runs; it is the first
    /// in the queue from now on.
    ///
    /// - Returns: `false` where others wait, or will in a moment.
    func take(for shown: PendingWrite?) -> Bool {
        state.withLock { state in
            guard state.refusal == nil, state.lastCount <= 1, state.take() else { return false }
            shown?.begin()
            return true
        }
    }

    /// Returns when there is room; explicit calls come through here before they encode anything.
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

    /// Has bodies that no entry names removed, soon.
    ///
    /// - Returns: see ``append(_:)``.
    func requestSweep() -> Bool {
        state.withLock { state -> Bool in
            guard state.refusal == nil else { return false }
            state.wantsSweep = true
            return state.take()
        }
    }

    /// Returns when nothing is left to be done, housekeeping included.
    ///
    /// - Parameter work: has the queue worked on.
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

    /// Refuses everything from now on; what waits already is still done, unless the reason is
    /// damage.
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

    // MARK: Who has taken it

    /// How long the first waits for the others, at most: about what one transaction takes.
    private static let gatheringMicroseconds = 300

    /// Waits until as many operations wait as were in the last transaction, or for a moment.
    ///
    /// Those who go on after a commit come again one after the other. Taking the first of them at
    /// once splits them into transactions of one or two, and each costs what one of eight does,
    /// near enough.
    func gather() {
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

    /// What waits, as much as one transaction takes, and whether a sweep was asked for.
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

    /// Lets some of those who wait go on: few at a time, because each brings bytes along.
    func admitWaiters(all: Bool) {
        let admitted = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard all || state.bytes <= limits.pending else { return [] }
            let admitted = Array(all ? state.admissionWaiters[...] : state.admissionWaiters.prefix(8))
            state.admissionWaiters.removeFirst(admitted.count)
            return admitted
        }
        for waiter in admitted { waiter.resume() }
    }

    /// Tells those who wait for it that nothing is left to be done.
    func settled() {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            // Who came after the last step has asked for another one.
            if state.wantsSweep { return [] }
            defer { state.idleWaiters = [] }
            return state.idleWaiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Gives it back; `false` when something came in meanwhile.
    func giveBack() -> Bool {
        state.withLock { state in
            guard state.pending.isEmpty, !state.wantsSweep else { return false }
            state.isTaken = false
            return true
        }
    }
}
