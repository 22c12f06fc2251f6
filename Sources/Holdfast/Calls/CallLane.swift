import Dispatch
import Synchronization

/// Runs what belongs to one call on one thread of the pool for as long as there is something to run, so that handing over from one of its tasks to another wakes no other thread.
///
/// A call has its own task and that of its fetch, and one of them always waits for the other.
final class CallLane: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var isRunning = false
    }

    private let state = Mutex(State())

    func enqueue(_ job: consuming ExecutorJob) {
        let priority = job.priority
        let job = UnownedJob(job)
        let isIdle = state.withLock { state in
            state.jobs.append(job)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if isIdle { DispatchQueue.global(qos: priority.qualityOfService).async { self.run() } }
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
