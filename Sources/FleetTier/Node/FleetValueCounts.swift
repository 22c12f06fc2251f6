import Synchronization

/// The results of peer lookups, offers and leases since the start.
package final class FleetValueCounts: Sendable {
    package enum Event: String, Sendable, CaseIterable {
        // Peer lookups.
        case hit, miss
        /// A purge concerns it, or may concern it.
        case old
        /// It cannot be opened: it is damaged, or another program wrote it.
        case poisoned
        /// A chunk of its body is gone.
        case incomplete
        case timedOut
        /// The engine is unusable, or the log is not followed.
        case away
        // Offers.
        case put
        /// A later response exists.
        case older
        /// There was no room, or the response was gone.
        case dropped
        case failed
        // Leases.
        case led
        /// Another node's response came.
        case waited
        /// Another node's response did not come in time.
        case expired
        /// The response cannot be shared.
        case passed
    }

    private let state = Mutex((events: [Event: Int](), bytesSent: 0))

    package init() {}

    package subscript(_ event: Event) -> Int { state.withLock { $0.events[event] ?? 0 } }
    /// Bytes of sealed values and chunks.
    package var bytesSent: Int { state.withLock { $0.bytesSent } }

    func count(_ event: Event) { state.withLock { $0.events[event, default: 0] += 1 } }
    func count(sent bytes: Int) { state.withLock { $0.bytesSent += bytes } }
}
