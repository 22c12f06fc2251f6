import Synchronization

/// The results of looks, offers and leases since the start.
package final class SharedValueCounts: Sendable {
    package enum Event: String, Sendable, CaseIterable {
        // Looks.
        case hit, miss
        /// A purge is about it, or may be.
        case old
        /// It does not open: it is damaged, or another program's.
        case poisoned
        /// A chunk of its body is gone.
        case incomplete
        case timedOut
        /// The engine cannot be used, or the log is not followed.
        case away
        // Offers.
        case put
        /// A later response is there.
        case older
        /// There was no room, or the response was gone.
        case dropped
        case failed
        // Leases.
        case led
        /// Another node's response came.
        case waited
        /// Another node's did not come in time.
        case expired
        /// The response is not for others.
        case passed
    }

    private let state = Mutex((events: [Event: Int](), bytesSent: 0))

    package init() {}

    package subscript(_ event: Event) -> Int { state.withLock { $0.events[event] ?? 0 } }
    /// Of values and chunks as sealed.
    package var bytesSent: Int { state.withLock { $0.bytesSent } }

    func count(_ event: Event) { state.withLock { $0.events[event, default: 0] += 1 } }
    func count(sent bytes: Int) { state.withLock { $0.bytesSent += bytes } }
}
