import HTTPCache
import Synchronization

/// The reporters of all health checks.
struct HealthReporters: Sendable {
    private let all: HealthReporter
    private let live: HealthReporter
    private let ready: HealthReporter

    init(_ status: @escaping @Sendable (HealthCheck) async -> HealthStatus) {
        all = HealthReporter { await status(.all) }
        live = HealthReporter { await status(.live) }
        ready = HealthReporter { await status(.ready) }
    }

    subscript(_ check: HealthCheck) -> HealthReporter {
        switch check {
        case .all: all
        case .live: live
        case .ready: ready
        }
    }
}

/// Performs one health check for all clients that ask for it at the same time, so that many clients
/// cost no more than one client.
final class HealthReporter: Sendable {
    private let check: @Sendable () async -> HealthStatus
    private struct State {
        /// The check in progress.
        var task: Task<HealthStatus, Never>?
        /// The number of clients waiting for the check.
        var waiting = 0
    }

    private let state = Mutex(State())

    init(_ check: @escaping @Sendable () async -> HealthStatus) { self.check = check }

    /// Returns the result of the check in progress, or else of a new check.
    func status() async -> HealthStatus {
        let task = state.withLock { state in
            state.waiting += 1
            if let task = state.task { return task }
            // The check belongs to no client, because the first client may disconnect while others
            // wait.
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

    /// The number of clients waiting for the check in progress. For tests.
    var waiterCount: Int { state.withLock { $0.waiting } }
}
