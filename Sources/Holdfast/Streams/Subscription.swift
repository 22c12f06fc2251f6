import Synchronization

/// A request that calls back. Cancelling it, or letting go of it, cancels the request.
public final class Subscription: Sendable {
    private let cancellation = Cancellation()
    private let task: Task<Void, Never>

    /// Whether callbacks may still begin; shared by the subscription and the task it started, which must not keep it alive.
    final class Cancellation: Sendable {
        private let isCancelled = Atomic(false)

        fileprivate func cancel() { isCancelled.store(true, ordering: .sequentiallyConsistent) }

        func unlessCancelled(_ callback: () -> Void) {
            if !isCancelled.load(ordering: .sequentiallyConsistent) { callback() }
        }
    }

    init(_ body: @escaping @Sendable (Cancellation) async -> Void) {
        let cancellation = cancellation
        task = Task { await body(cancellation) }
    }

    deinit { cancel() }

    /// Cancels the request. Called where the callbacks run, it lets none begin any more; called from elsewhere, one that is just beginning
    /// still runs to its end.
    public func cancel() {
        cancellation.cancel()
        task.cancel()
    }

    /// Waits until the last callback has returned.
    public func finished() async {
        await task.value
    }
}
