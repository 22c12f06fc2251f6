import Synchronization

/// Whether fresh stored responses are served without validation. A node of a fleet does so only
/// after it has read the purges of the time before its start. It may be told to do so only while it
/// is sure to hear of the other nodes' purges.
enum FleetContact: Sendable {
    /// Always.
    case lasting
    /// For this request. Whether the next one may be served the same is seen then.
    case leased
    /// Not now: the node is starting, or cut off.
    case none
}

/// For how long a node may believe that it knows the purges of all nodes. The fleet log extends
/// it.
package final class ContactLease: Sendable {
    /// When a node serves fresh responses without validation.
    package enum Term: Sendable {
        /// While its last confirmed contact is young.
        case whileConfirmed
        /// From when it has read the log, or given up.
        case fromStart
    }

    private let term: Term
    private let end = Mutex<ContinuousClock.Instant?>(nil)
    private let started = Atomic(false)

    package init(_ term: Term = .whileConfirmed) { self.term = term }

    /// Whether it lasts. Time for which the process was stopped counts.
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

    /// Whether the purges of the time before the node's start are still to be read.
    package var isStarting: Bool { !started.load(ordering: .acquiring) }

    /// The log was read for the first time, or cannot be.
    package func endStart() { started.store(true, ordering: .releasing) }

    /// The log has confirmed a contact.
    ///
    /// - Parameter start: an instant before the confirmation was asked for.
    package func extend(from start: ContinuousClock.Instant, by duration: Duration) {
        end.withLock { $0 = max($0 ?? start, start + duration) }
    }
}
