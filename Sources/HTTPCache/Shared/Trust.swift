import Synchronization

/// Whether fresh stored responses are served without validation. A node of a fleet may be told to
/// do so only while it is sure to hear of the other nodes' purges.
enum Trust: Sendable {
    /// Always.
    case lasting
    /// For this request. Whether the next one may be served the same is seen then.
    case leased
    /// Not now: the node is cut off.
    case none
}

/// For how long a node may believe that it knows the purges of all nodes. The shared log extends
/// it.
package final class TrustLease: Sendable {
    private let end = Mutex<ContinuousClock.Instant?>(nil)

    package init() {}

    /// Whether it lasts. Time for which the process was stopped counts.
    package var holds: Bool { end.withLock { $0.map { ContinuousClock.now < $0 } ?? false } }

    /// The log has confirmed a contact.
    ///
    /// - Parameter start: an instant before the confirmation was asked for.
    package func extend(from start: ContinuousClock.Instant, by duration: Duration) {
        end.withLock { $0 = max($0 ?? start, start + duration) }
    }
}
