import Synchronization

/// Whether a node serves fresh stored responses without validation. It does so only after it has
/// read the purges from before its start, or has given up reading them. It can be configured to do
/// so only while it is certain to receive other nodes' purges.
enum FleetContact: Sendable {
    /// Always.
    case lasting
    /// For this request only; the next request checks again.
    case leased
    /// Not now, because the node is starting or disconnected.
    case none
}

/// The time for which a node may assume that it knows all nodes' purges. The fleet log extends the
/// lease.
package final class ContactLease: Sendable {
    /// The condition under which a node serves fresh responses without validation.
    package enum Term: Sendable {
        /// The node's last confirmed contact is recent.
        case whileConfirmed
        /// The node has read the log since its start, or has given up reading it.
        case fromStart
    }

    private let term: Term
    private let end = Mutex<ContinuousClock.Instant?>(nil)
    private let started = Atomic(false)

    package init(_ term: Term = .whileConfirmed) { self.term = term }

    /// Whether the lease is in force. Time during which the process was stopped counts.
    package var holds: Bool {
        switch term {
        case .fromStart: started.load(ordering: .acquiring)
        case .whileConfirmed: end.withLock { $0.map { ContinuousClock.now < $0 } ?? false }
        }
    }

    var contact: FleetContact {
        switch term {
        case .fromStart: started.load(ordering: .acquiring) ? .lasting : .none
        case .whileConfirmed: holds ? .leased : .none
        }
    }

    /// Whether the node has yet to read the purges from before its start.
    package var isStarting: Bool { !started.load(ordering: .acquiring) }

    /// Records that the log was read for the first time, or cannot be read.
    package func endStart() { started.store(true, ordering: .releasing) }

    /// Extends the lease, because the log has confirmed a contact.
    ///
    /// - Parameter start: a time before the confirmation was requested.
    package func extend(from start: ContinuousClock.Instant, by duration: Duration) {
        end.withLock { $0 = max($0 ?? start, start + duration) }
    }
}
