import Synchronization

/// A request that delivers its emissions to callbacks. Canceling or releasing the subscription
/// cancels the request.
public final class StreamSubscription: Sendable {
    private let cancellation: Cancellation
    private let task: Task<Void, Never>

    /// Whether callbacks may still begin, and the work in progress. The subscription shares this
    /// object with its task, which must not keep the subscription alive.
    final class Cancellation: Sendable {
        /// The subscription whose callbacks the current task runs.
        @TaskLocal static var current: Cancellation?

        /// The work that is canceled immediately with the subscription, even while a callback
        /// runs.
        let underWay = CancellationGroup()
        private let isOwnerGone: @Sendable () -> Bool
        private let finished = Atomic(false)

        fileprivate init(isOwnerGone: @escaping @Sendable () -> Bool) {
            self.isOwnerGone = isOwnerGone
        }

        /// Runs a callback, unless the subscription is canceled or its owner has been released.
        func unlessCancelled(_ callback: () -> Void) {
            if cancelWithoutOwner() { return }
            // Requests that a callback starts are not part of this subscription.
            Self.$current.withValue(nil) { callback() }
        }

        /// Does the same for an asynchronous callback.
        func unlessCancelled(waiting callback: () async -> Void) async {
            if cancelWithoutOwner() { return }
            await Self.$current.withValue(nil) { await callback() }
        }

        /// Returns whether the subscription is canceled. If its owner has been released, cancels
        /// it first. Called only where the callbacks run, because it may release the owner.
        private func cancelWithoutOwner() -> Bool {
            if isOwnerGone() { underWay.cancel() }
            return isCancelled
        }

        /// Whether callbacks may no longer begin.
        var isCancelled: Bool { underWay.isCancelled }
        fileprivate var isFinished: Bool { finished.load(ordering: .acquiring) }
        fileprivate func finish() { finished.store(true, ordering: .releasing) }
    }

    /// - Parameter owner: the owner of the callbacks, held weakly. After it is released, no more
    ///   callbacks run, and the subscription is canceled when the next callback is due.
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

    /// Cancels the request. If this is called where the callbacks run, no more callbacks begin. If
    /// it is called elsewhere, a callback that is just beginning still runs to completion.
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
