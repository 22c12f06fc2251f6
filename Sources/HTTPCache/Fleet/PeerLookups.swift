import HTTPCacheSemantics
import Synchronization

/// Looks up responses of other nodes, once for all of this node's exchanges that need the same
/// response.
final class PeerLookups: Sendable {
    /// A peer lookup that is running or has ended.
    final class Find: Sendable {
        private let held = Mutex<HeldLease?>(nil)

        func put(_ lease: HeldLease) { held.withLock { $0 = lease } }

        /// The lease, for the exchange that leads the fetch; `nil` for all others.
        func takeLease() -> HeldLease? { held.withLock { $0.take() } }
    }

    private struct Running {
        var find: Find
        /// Whether a response is stored here when it ends.
        var end: Task<Bool, Never>
    }

    let responses: any FleetResponses
    private let running = Mutex<[CacheKey: Running]>([:])

    init(_ responses: any FleetResponses) {
        self.responses = responses
    }

    /// The key for a worthwhile peer lookup; `nil` if it is not worthwhile: this node does not
    /// follow the others' purges, or no other node has the response.
    ///
    /// - Parameter key: called only if this node follows the log.
    func worthwhile(_ key: @autoclosure () -> CacheKey?) -> CacheKey? {
        guard responses.isFollowing, let key = key(), responses.mayHave(key) else { return nil }
        return key
    }

    /// Whether an exchange is looking up responses for a key.
    func isLookingUp(_ key: CacheKey) -> Bool { running.withLock { $0[key] != nil } }

    /// Looks up, or waits for another exchange's peer lookup.
    ///
    /// - Parameter accept: looks up a response and stores it here; returns whether it did.
    /// - Returns: the peer lookup, whether a response is stored here now, and whether another
    ///   exchange performed the lookup, possibly for another variant.
    func find(
        _ key: CacheKey,
        _ accept: @escaping @Sendable (Find) async -> Bool
    ) async -> (find: Find, isAccepted: Bool, isOthers: Bool) {
        let (present, isOthers) = running.withLock { running in
            if let present = running[key] { return (present, true) }
            let find = Find()
            // No caller's cancellation reaches it, because others wait for it. The tier's limits
            // end it.
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

    /// Passes the lease on.
    func take() -> FleetLease? { lease.withLock { $0.take() } }
}
