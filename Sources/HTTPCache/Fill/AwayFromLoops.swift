import NIOCore

/// Runs an operation that may wait for a disk on the system's threads if the caller's task prefers
/// an executor of its own, for example an event loop that has other requests to serve.
///
/// A store's operations may block. A caller that runs exchanges on a loop
/// (``CacheRequest/executor``) relies on none of them blocking there. The operation gets a task of
/// its own, because a different preference within the same task leaves code called in a closure
/// where it was (Swift 6.3).
func awayFromLoops<Value: Sendable>(_ operation: @escaping @Sendable () async throws -> Value) async throws -> Value {
    guard withUnsafeCurrentTask(body: { $0?.unownedTaskExecutor != nil }) else { return try await operation() }
    let task = Task { try await operation() }
    return try await withTaskCancellationHandler {
        try await task.value
    } onCancel: {
        task.cancel()
    }
}
