import Synchronization

/// A request that delivers to callbacks. Cancelling or releasing the subscription cancels the
/// request.
public final class Subscription: Sendable {
    private let cancellation = Cancellation()
    private let task: Task<Void, Never>

    /// Whether callbacks may still begin, and the work that is under way. The subscription shares
    /// it with its task, which must not keep the subscription alive.
    final class Cancellation: Sendable {
        private struct State {
            var isCancelled = false
            var isFinished = false
            var underWay: [Int: @Sendable () -> Void] = [:]
            var next = 0
        }

        /// The subscription whose callbacks the current task runs.
        @TaskLocal static var current: Cancellation?

        private let state = Mutex(State())

        fileprivate func cancel() {
            let underWay = state.withLock { state in
                state.isCancelled = true
                defer { state.underWay = [:] }
                return state.underWay.values
            }
            for cancel in underWay { cancel() }
        }

        /// Registers work that is cancelled together with the subscription, at once, even while a
        /// callback runs.
        func register(_ cancel: @escaping @Sendable () -> Void) -> Registration? {
            let number: Int? = state.withLock { state in
                if state.isCancelled { return nil }
                defer { state.next += 1 }
                state.underWay[state.next] = cancel
                return state.next
            }
            if number == nil { cancel() }
            return number.map { Registration(cancellation: self, number: $0) }
        }

        struct Registration: Sendable {
            fileprivate let cancellation: Cancellation
            fileprivate let number: Int

            func end() { _ = cancellation.state.withLock { $0.underWay.removeValue(forKey: number) } }
        }

        func unlessCancelled(_ callback: () -> Void) {
            if state.withLock({ $0.isCancelled }) { return }
            // Requests that a callback starts are not part of this subscription.
            Self.$current.withValue(nil) { callback() }
        }

        /// The same for an asynchronous callback.
        func unlessCancelled(waiting callback: () async -> Void) async {
            if state.withLock({ $0.isCancelled }) { return }
            await Self.$current.withValue(nil) { await callback() }
        }

        fileprivate var isFinished: Bool { state.withLock { $0.isFinished } }
        fileprivate func finish() { state.withLock { $0.isFinished = true } }
    }

    init(_ body: @escaping @Sendable (Cancellation) async -> Void) {
        let cancellation = cancellation
        task = Task {
            await Cancellation.$current.withValue(cancellation) { await body(cancellation) }
            cancellation.finish()
        }
    }

    deinit { cancel() }

    /// Cancels the request. If it is called where the callbacks run, no further callback begins. If
    /// it is called elsewhere, a callback that is just beginning still runs to its end.
    public func cancel() {
        cancellation.cancel()
        task.cancel()
    }

    /// Whether the last callback has returned.
    var isFinished: Bool { cancellation.isFinished }

    /// Waits until the last callback has returned.
    public func finished() async {
        await task.value
    }
}
