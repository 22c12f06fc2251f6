import Synchronization

/// Passes changes on to watchers. Without watchers, publishing a change costs one atomic read.
package final class ChangeFeed<Change: Sendable>: Sendable {
    private struct Watcher {
        var concerns: @Sendable (Change) -> Bool
        var continuation: AsyncStream<Change>.Continuation
    }

    private struct State {
        var watchers: [Int: Watcher] = [:]
        var next = 0
        var isFinished = false
        var whenWatched: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let count = Atomic(0)

    /// Creates a feed without watchers.
    package init() {}

    /// Sets a function that is called each time the number of watchers rises from zero, before the
    /// stream is returned. A store that must poll for changes starts to poll then.
    package func whenWatched(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.whenWatched = body } }

    /// Whether there is a watcher.
    package var isWatched: Bool { count.load(ordering: .acquiring) > 0 }

    /// Returns a stream of the changes from now on for which `concerns` returns `true`.
    ///
    /// The stream ends with ``finish()``, when the task that reads it is canceled, or when it is
    /// released.
    /// - Parameter limit: the maximum number of changes that wait for a slow watcher. If there are
    ///   more, the oldest are dropped, so that the watcher still sees the newest.
    package func changes(
        limit: Int,
        where concerns: @escaping @Sendable (Change) -> Bool
    ) -> AsyncStream<Change> {
        let (stream, continuation) = AsyncStream.makeStream(of: Change.self, bufferingPolicy: .bufferingNewest(limit))
        let (id, begin) = state.withLock { state -> (Int?, (@Sendable () -> Void)?) in
            guard !state.isFinished else { return (nil, nil) }
            defer { state.next += 1 }
            state.watchers[state.next] = Watcher(concerns: concerns, continuation: continuation)
            count.store(state.watchers.count, ordering: .releasing)
            return (state.next, state.watchers.count == 1 ? state.whenWatched : nil)
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in self?.remove(id) }
        begin?()
        return stream
    }

    private func remove(_ id: Int) {
        // Release the continuation outside the lock, because its end runs external code.
        let removed = state.withLock { state in
            defer { count.store(state.watchers.count, ordering: .releasing) }
            return state.watchers.removeValue(forKey: id)
        }
        withExtendedLifetime(removed) {}
    }

    /// Passes a change to every watcher that it concerns. Stores call it after the commit.
    package func publish(_ change: @autoclosure () -> Change) {
        guard count.load(ordering: .acquiring) > 0 else { return }
        let change = change()
        let concerned = state.withLock { state in
            state.watchers.values.filter { $0.concerns(change) }.map(\.continuation)
        }
        for continuation in concerned { continuation.yield(change) }
    }

    /// Ends all streams after the changes that were already sent to them. Streams created later end
    /// immediately.
    package func finish() {
        let watching = state.withLock { state in
            state.isFinished = true
            defer { state.watchers = [:] }
            count.store(0, ordering: .releasing)
            return state.watchers.values.map(\.continuation)
        }
        for watcher in watching { watcher.finish() }
    }

    deinit { finish() }
}
