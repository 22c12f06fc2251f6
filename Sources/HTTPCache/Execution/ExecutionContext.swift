/// Where an exchange runs, and the fetch that it begins; and where it performs a store's
/// operations.
///
/// A store's operation may block its thread while the disk works. It may do so on the system's
/// threads, and on an executor that keeps nothing else waiting. An operation that suspends instead
/// (``ResponseStore/suspendsWhileWriting``) may run anywhere. A calling thread is a place for short
/// reads: see ``ReadingPace``.
package enum ExecutionContext: Sendable {
    /// On the threads where the system runs tasks.
    case system
    /// On an executor shared with others, which must not wait: an event loop.
    case shared(any TaskExecutor)
    /// On an executor where nothing else is kept waiting, so that reading from a disk may block it.
    /// Writes still run elsewhere.
    case own(any BlockingExecutor)

    /// Runs one exchange and nothing else.
    package protocol BlockingExecutor: TaskExecutor {
        /// Returns once the caller may wait for a disk where it runs. Called on this executor.
        func readyToBlock() async
    }

    var executor: (any TaskExecutor)? {
        switch self {
        case .system: nil
        case .shared(let executor): executor
        case .own(let executor): executor
        }
    }

    var isShared: Bool {
        if case .shared = self { true } else { false }
    }

    /// Performs a store's operation for an exchange in this place. Whatever writes takes the place
    /// ``system``.
    ///
    /// If the caller's task prefers an executor, an operation for ``system`` gets a task of its
    /// own, because a different preference within the same task leaves code called in a closure
    /// where it was (Swift 6.3).
    ///
    /// - Parameter suspends: the operation blocks no thread, so it runs where its caller does.
    func perform<Value: Sendable>(
        suspends: Bool = false,
        _ operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        if suspends { return try await operation() }
        if case .own(let executor) = self {
            await executor.readyToBlock()
            return try await operation()
        }
        guard withUnsafeCurrentTask(body: { $0?.unownedTaskExecutor != nil }) else { return try await operation() }
        let task = Task { try await operation() }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
