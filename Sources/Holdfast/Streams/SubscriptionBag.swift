import Synchronization

/// Holds subscriptions, so that their callbacks continue until the bag is released or
/// ``cancelAll()`` is called.
///
/// ```swift
/// let subscriptions = SubscriptionBag()
/// client.startWith(endpoint).subscribe(owner: self) { screen, emission in
///     screen.show(emission.value)
/// }.store(in: subscriptions)
/// ```
///
/// Subscriptions that have ended are released when others are added.
public final class SubscriptionBag: Sendable {
    private struct State {
        var subscriptions: [StreamSubscription] = []
        /// The number of subscriptions at which ended subscriptions are removed.
        var limit = 16
    }

    private let state = Mutex(State())

    /// Creates an empty bag.
    public init() {}

    /// Adds a subscription.
    public func insert(_ subscription: StreamSubscription) {
        state.withLock { state in
            state.subscriptions.append(subscription)
            guard state.subscriptions.count > state.limit else { return }
            state.subscriptions.removeAll { $0.isFinished }
            state.limit = max(16, 2 * state.subscriptions.count)
        }
    }

    /// Cancels and releases all subscriptions. Subscriptions that are added later are not affected.
    public func cancelAll() {
        // Release them outside the lock, because this runs foreign code.
        let held = state.withLock { state in
            defer { state = State() }
            return state.subscriptions
        }
        for subscription in held { subscription.cancel() }
    }

    /// The number of subscriptions in the bag, for tests.
    package var count: Int { state.withLock { $0.subscriptions.count } }
}

extension StreamSubscription {
    /// Adds this subscription to a bag, so that its callbacks continue for as long as the bag
    /// exists.
    public func store(in bag: SubscriptionBag) { bag.insert(self) }
}
