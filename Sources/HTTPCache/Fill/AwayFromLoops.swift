import NIOCore

/// Does what may wait for a disk on the system's threads, where the caller's task prefers an
/// executor of its own: an event loop, say, that has others to serve.
///
/// A store's operations may block; whoever runs exchanges on a loop (``CacheRequest/executor``)
/// counts on it that none of them does so there. A task of its own, because another preference
/// within the same one leaves what is called in a closure where it was (Swift 6.3).
func awayFromLoops<Value: Sendable>(_ operation: @escaping @Sendable () async throws -> Value) async throws -> Value {
    guard withUnsafeCurrentTask(body: { $0?.unownedTaskExecutor != nil }) else { return try await operation() }
    let task = Task { try await operation() }
    return try await withTaskCancellationHandler {
        try await task.value
    } onCancel: {
        task.cancel()
    }
}
