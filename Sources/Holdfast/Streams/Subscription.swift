import Synchronization

/// A request that delivers to callbacks. Cancelling or releasing the subscription cancels the
/// request.
public final class Subscription: Sendable {
    private let cancellation: Cancellation
    private let task: Task<Void, Never>

    /// Whether callbacks may still begin, and the work that is under way. The subscription shares
    /// it with its task, which must not keep the subscription alive.
    final class Cancellation: Sendable {
        /// The subscription whose callbacks the current task runs.
        @TaskLocal static var current: Cancellation?

        /// The work that is cancelled together with the subscription, at once, even while a
        /// callback runs.
        let underWay = CancellationGroup()
        private let isOwnerGone: @Sendable () -> Bool
        private let finished = Atomic(false)

        fileprivate init(isOwnerGone: @escaping @Sendable () -> Bool) {
            self.isOwnerGone = isOwnerGone
        }

        /// Runs a callback, unless the subscription was cancelled or its owner is gone.
        func unlessCancelled(_ callback: () -> Void) {
            if cancelWithoutOwner() { return }
            // Requests that a callback starts are not part of this subscription.
            Self.$current.withValue(nil) { callback() }
        }

        /// The same for an asynchronous callback.
        func unlessCancelled(waiting callback: () async -> Void) async {
            if cancelWithoutOwner() { return }
            await Self.$current.withValue(nil) { await callback() }
        }

        /// Returns whether the subscription is cancelled. Cancels it if its owner is gone. It is
        /// called only where the callbacks run, because it may release the owner.
        private func cancelWithoutOwner() -> Bool {
            if isOwnerGone() { underWay.cancel() }
            return isCancelled
        }

        /// Whether no callback may begin any more.
        var isCancelled: Bool { underWay.isCancelled }
        fileprivate var isFinished: Bool { finished.load(ordering: .acquiring) }
        fileprivate func finish() { finished.store(true, ordering: .releasing) }
    }

    /// - Parameter owner: the object that the callbacks belong to; held weakly. When it is gone,
    ///   the next callback does not run, and the subscription is cancelled.
    init(of owner: (any AnyObject & Sendable)? = nil, _ body: @escaping @Sendable (Cancellation) async -> Void) {
        let cancellation =
            if let owner {
                Cancellation(isOwnerGone: { [weak owner] in owner == nil })
            } else {
                Cancellation(isOwnerGone: { false })
            }
        self.cancellation = cancellation
        task = Task {
            await Cancellation.$current.withValue(cancellation) { await body(cancellation) }
            cancellation.finish()
        }
    }

    deinit { cancel() }

    /// Cancels the request. If it is called where the callbacks run, no further callback begins. If
    /// it is called elsewhere, a callback that is just beginning still runs to its end.
    public func cancel() {
        cancellation.underWay.cancel()
        task.cancel()
    }

    /// Whether the last callback has returned.
    var isFinished: Bool { cancellation.isFinished }

    /// Waits until the last callback has returned.
    public func finished() async {
        await task.value
    }
}
