import Synchronization

/// Holds subscriptions, so that their callbacks go on until the bag is let go of, or
/// ``cancelAll()`` is called.
///
/// ```swift
/// let subscriptions = SubscriptionBag()
/// client.startWith(endpoint).subscribe { show($0.value) }.store(in: subscriptions)
/// ```
///
/// Those that have ended are let go of while others are added.
public final class SubscriptionBag: Sendable {
    private struct State {
        var subscriptions: [Subscription] = []
        /// How many there may be before those that have ended are looked for.
        var limit = 16
    }

    private let state = Mutex(State())

    /// An empty bag.
    public init() {}

    /// Holds one more.
    public func insert(_ subscription: Subscription) {
        state.withLock { state in
            state.subscriptions.append(subscription)
            guard state.subscriptions.count > state.limit else { return }
            state.subscriptions.removeAll { $0.isFinished }
            state.limit = max(16, 2 * state.subscriptions.count)
        }
    }

    /// Cancels all that it holds, and holds them no longer. Those that are added afterwards run.
    public func cancelAll() {
        // Let go of outside the lock: what ends runs code of others.
        let held = state.withLock { state in
            defer { state = State() }
            return state.subscriptions
        }
        for subscription in held { subscription.cancel() }
    }

    /// How many it holds, for tests.
    package var count: Int { state.withLock { $0.subscriptions.count } }
}

extension Subscription {
    /// Has a bag hold this subscription, so that its callbacks go on for as long as the bag does.
    public func store(in bag: SubscriptionBag) { bag.insert(self) }
}
