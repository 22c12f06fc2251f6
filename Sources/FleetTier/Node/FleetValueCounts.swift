import Synchronization

/// Counts of peer lookups, offers and leases by result, since startup.
package final class FleetValueCounts: Sendable {
    package enum Event: String, Sendable, CaseIterable {
        // Results of peer lookups.
        case hit, miss
        /// A purge affects the value, or may affect it.
        case old
        /// The value cannot be decrypted: it is damaged, or another program wrote it.
        case poisoned
        /// A chunk of the body is missing.
        case incomplete
        case timedOut
        /// The server is unusable, or this node is not following the log.
        case away
        // Results of offers.
        case put
        /// The server already has a later response.
        case older
        /// The queue was full, or the response no longer existed.
        case dropped
        case failed
        // Results of leases.
        case led
        /// Another node's response arrived.
        case waited
        /// Another node's response did not arrive in time.
        case expired
        /// The response cannot be shared.
        case passed
    }

    private let state = Mutex((events: [Event: Int](), bytesSent: 0))

    package init() {}

    package subscript(_ event: Event) -> Int { state.withLock { $0.events[event] ?? 0 } }
    /// The number of bytes sent, in sealed values and chunks.
    package var bytesSent: Int { state.withLock { $0.bytesSent } }

    func count(_ event: Event) { state.withLock { $0.events[event, default: 0] += 1 } }
    func count(sent bytes: Int) { state.withLock { $0.bytesSent += bytes } }
}
