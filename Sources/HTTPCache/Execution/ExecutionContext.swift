/// The place where an exchange and its fetch run, and where store operations are performed.
///
/// A store operation may block its thread while the disk works. It may block the system's threads,
/// and an executor on which nothing else waits. An operation that suspends instead
/// (``ResponseStore/suspendsWhileWriting``) may run anywhere. A calling thread can be used for
/// short reads: see ``ReadingPace``.
package enum ExecutionContext: Sendable {
    /// On the system's threads for tasks.
    case system
    /// On a shared executor, which must not block: an event loop.
    case shared(any TaskExecutor)
    /// On an executor where nothing else waits, so reading from a disk may block it. Writes still
    /// run elsewhere.
    case own(any BlockingExecutor)

    /// An executor that runs one exchange and nothing else.
    package protocol BlockingExecutor: TaskExecutor {
        /// Returns once the caller may wait for a disk on its current thread. Called on this
        /// executor.
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

    /// Performs a store operation for an exchange in this context. Writes always use ``system``.
    ///
    /// If the caller's task prefers an executor, an operation for ``system`` gets its own task. In
    /// Swift 6.3, another preference within the same task does not move code that is called in a
    /// closure.
    ///
    /// - Parameter suspends: whether the operation suspends instead of blocking its thread, so that
    ///   it can run where its caller runs.
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
