import HTTPCacheSemantics
import Synchronization

/// Looks up responses of other nodes, once for all of this node's exchanges that need the same
/// response.
final class PeerLookups: Sendable {
    /// A peer lookup that is running or has ended.
    final class Find: Sendable {
        private let held = Mutex<HeldLease?>(nil)

        func put(_ lease: HeldLease) { held.withLock { $0 = lease } }

        /// Returns the lease to its first caller, the exchange that leads the fetch; returns `nil`
        /// to all others.
        func takeLease() -> HeldLease? { held.withLock { $0.take() } }
    }

    private struct Running {
        var find: Find
        /// The task of the lookup, which returns whether a response was stored here.
        var end: Task<Bool, Never>
    }

    let responses: any FleetResponses
    private let running = Mutex<[StoreKey: Running]>([:])

    init(_ responses: any FleetResponses) {
        self.responses = responses
    }

    /// Returns the key if a peer lookup is worthwhile; `nil` if this node does not follow the log
    /// of purges, or if no other node is expected to have a response.
    ///
    /// - Parameter key: called only if this node follows the log.
    func worthwhile(_ key: @autoclosure () -> StoreKey?) -> StoreKey? {
        guard responses.isFollowing, let key = key(), responses.mayHave(key) else { return nil }
        return key
    }

    /// Returns whether an exchange is looking up responses for a key.
    func isLookingUp(_ key: StoreKey) -> Bool { running.withLock { $0[key] != nil } }

    /// Performs a peer lookup, or waits for another exchange's lookup of the same key.
    ///
    /// - Parameter accept: looks up a response and stores it here; returns whether a response was
    ///   stored.
    /// - Returns: the peer lookup, whether it stored a response here, and whether another exchange
    ///   performed the lookup, possibly for another variant.
    func find(
        _ key: StoreKey,
        _ accept: @escaping @Sendable (Find) async -> Bool
    ) async -> (find: Find, isAccepted: Bool, isOthers: Bool) {
        let (present, isOthers) = running.withLock { running in
            if let present = running[key] { return (present, true) }
            let find = Find()
            // A caller's cancellation does not end the lookup, because others wait for it. The
            // tier's limits end it.
            let end = Task {
                let isAccepted = await accept(find)
                self.running.withLock { $0[key] = nil }
                return isAccepted
            }
            let new = Running(find: find, end: end)
            running[key] = new
            return (new, false)
        }
        return (present.find, await present.end.value, isOthers)
    }
}

/// A lease that is returned when no part of an exchange holds it anymore.
final class HeldLease: Sendable {
    private let responses: any FleetResponses
    private let lease: Mutex<FleetLease?>

    init(_ lease: FleetLease, of responses: any FleetResponses) {
        self.responses = responses
        self.lease = Mutex(lease)
    }

    deinit {
        if let lease = take() { responses.release(lease, of: lease.key, isForOthers: true) }
    }

    /// Takes the lease, which is then no longer returned automatically.
    func take() -> FleetLease? { lease.withLock { $0.take() } }
}
