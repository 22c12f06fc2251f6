import Dispatch
import HTTPCache
import Synchronization

/// The executor of one call. While there is work, it runs all tasks of the call on one thread of
/// the pool, so that a switch from one task to another wakes no other thread.
///
/// A call has three tasks: the caller's task, its own task and the task of its fetch. All but one
/// of them are waiting for the next. Until all of them wait for the network for the first time,
/// their work takes a few microseconds, which is less than waking a thread. A call executor may
/// therefore begin on the thread that makes the call. It leaves that thread when all tasks wait, or
/// when a task is about to wait for a disk (``readyToBlock()``).
final class CallExecutor: ExecutionContext.BlockingExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        /// Whether a thread runs the jobs, or is about to.
        var isRunning = false
        /// The number of jobs that may still run on the caller's thread.
        var jobsHere: Int
        /// Whether the executor is running on the caller's thread.
        var isHere = false
        /// Tasks that resume as soon as the executor has left the caller's thread.
        var leaving: [UnsafeContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    /// - Parameter startsHere: whether the executor begins on the caller's thread. Only for calls
    ///   that run no foreign code of unknown duration before they wait. The first job of such an
    ///   executor must be a task that left another executor and is therefore suspended. A job that
    ///   runs inside a running task (such as a child task that it creates) would corrupt the
    ///   runtime's exclusivity records, because both tasks would share them.
    init(startsHere: Bool) {
        // The caller's task, the call's own task (see `CachingClient.untilClosed`), and its
        // fetch's.
        state = Mutex(State(jobsHere: startsHere ? 3 : 0))
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let priority = job.priority
        let job = UnownedJob(job)
        let (isIdle, startsHere) = state.withLock { state in
            state.jobs.append(job)
            defer { state.isRunning = true }
            guard !state.isRunning, state.jobsHere > 0 else { return (!state.isRunning, false) }
            state.isHere = true
            return (false, true)
        }
        if startsHere { return runHere(then: priority) }
        if isIdle { DispatchQueue.global(qos: priority.qualityOfService).async { self.run() } }
    }

    func readyToBlock() async {
        guard state.withLock({ $0.isHere }) else { return }
        await withUnsafeContinuation { continuation in
            let isHere = state.withLock { state in
                if state.isHere { state.leaving.append(continuation) }
                return state.isHere
            }
            if !isHere { continuation.resume() }
        }
    }

    private func runHere(then priority: JobPriority) {
        // The runtime does not retain the executor. The call does, but may end on another thread
        // while this thread is still running the executor.
        let held = Unmanaged.passRetained(self)
        defer { held.release() }
        let executor = asUnownedTaskExecutor()
        while let job = nextHere() { job.runSynchronously(on: executor) }
        let (leaving, isLeft) = state.withLock { state in
            (state.isHere, state.jobsHere) = (false, 0)
            defer { state.leaving = [] }
            state.isRunning = !state.leaving.isEmpty || !state.jobs.isEmpty
            return (state.leaving, state.isRunning)
        }
        guard isLeft else { return }
        DispatchQueue.global(qos: priority.qualityOfService).async {
            for one in leaving { one.resume() }
            self.run()
        }
    }

    private func nextHere() -> UnownedJob? {
        state.withLock { state in
            guard state.jobsHere > 0, state.leaving.isEmpty, !state.jobs.isEmpty else { return nil }
            state.jobsHere -= 1
            return state.jobs.removeFirst()
        }
    }

    private func run() {
        let executor = asUnownedTaskExecutor()
        while let job = next() { job.runSynchronously(on: executor) }
    }

    private func next() -> UnownedJob? {
        state.withLock { state in
            guard !state.jobs.isEmpty else {
                state.isRunning = false
                return nil
            }
            return state.jobs.removeFirst()
        }
    }
}

extension JobPriority {
    fileprivate var qualityOfService: DispatchQoS.QoSClass {
        switch rawValue {
        case TaskPriority.high.rawValue...: .userInitiated
        case TaskPriority.medium.rawValue...: .default
        case TaskPriority.low.rawValue...: .utility
        case 1...: .background
        default: .default
        }
    }
}
