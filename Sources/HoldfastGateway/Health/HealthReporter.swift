import HTTPCache
import Synchronization

/// Asks for the gateway's health once for all clients that ask at a time, so that no number of them
/// makes it costly.
final class HealthReporter: Sendable {
    private let check: @Sendable () async -> HealthStatus
    private struct State {
        /// The check under way.
        var task: Task<HealthStatus, Never>?
        /// The clients that wait for it.
        var waiting = 0
    }

    private let state = Mutex(State())

    init(_ check: @escaping @Sendable () async -> HealthStatus) { self.check = check }

    /// The health, by a check that has not ended yet.
    func status() async -> HealthStatus {
        let task = state.withLock { state in
            state.waiting += 1
            if let task = state.task { return task }
            // It belongs to no client: the first one may leave while others wait.
            let task = Task { [self] in
                let status = await check()
                self.state.withLock { $0 = State() }
                return status
            }
            state.task = task
            return task
        }
        return await task.value
    }

    /// The clients that wait for the check under way. Tests use it.
    var waiterCount: Int { state.withLock { $0.waiting } }
}
