import Synchronization

/// The tasks of one query. They end when the query is stopped or released.
final class QueryWork: Sendable {
    /// A query has at most one task of each kind.
    enum Kind: CaseIterable {
        case start, changes, origin, mode, read, fetch, wait
    }

    private let tasks = Mutex<[Kind: Task<Void, Never>]>([:])

    deinit { cancel() }

    /// Adds a task. It replaces an earlier one of its kind, which is canceled.
    func set(_ kind: Kind, _ task: Task<Void, Never>?) {
        let replaced = tasks.withLock { tasks in
            defer { tasks[kind] = task }
            return tasks[kind]
        }
        replaced?.cancel()
    }

    func task(_ kind: Kind) -> Task<Void, Never>? { tasks.withLock { $0[kind] } }

    func cancel() {
        let running = tasks.withLock { tasks in
            defer { tasks = [:] }
            return tasks.values
        }
        for task in running { task.cancel() }
    }
}
