import HTTPCacheSemantics
import Synchronization

/// Looks for responses of other nodes: once for all exchanges of this node that need the same.
final class PeerLookups: Sendable {
    /// A peer lookup that is under way, or over.
    final class Find: Sendable {
        private let held = Mutex<HeldLease?>(nil)

        func put(_ lease: HeldLease) { held.withLock { $0 = lease } }

        /// The lease, for the exchange that leads the fetch; `nil` for all others.
        func takeLease() -> HeldLease? { held.withLock { $0.take() } }
    }

    private struct Running {
        var find: Find
        /// Whether a response is stored here at its end.
        var end: Task<Bool, Never>
    }

    let responses: any FleetResponses
    private let running = Mutex<[CacheKey: Running]>([:])

    init(_ responses: any FleetResponses) {
        self.responses = responses
    }

    /// The key under which it is worth looking for a response of another node; `nil` if it is not:
    /// this node does not follow the purges of others, or no other has what is wanted.
    ///
    /// - Parameter key: called only if this node follows.
    func worthwhile(_ key: @autoclosure () -> CacheKey?) -> CacheKey? {
        guard responses.isFollowing, let key = key(), responses.mayHave(key) else { return nil }
        return key
    }

    /// Whether an exchange looks for responses to a key.
    func isLookingUp(_ key: CacheKey) -> Bool { running.withLock { $0[key] != nil } }

    /// Looks up, or waits for the peer lookup of another exchange.
    ///
    /// - Parameter accept: looks for a response and stores it here; returns whether it did.
    /// - Returns: the peer lookup, whether a response is stored here now, and whether another
    ///   exchange looked it up, maybe for another variant.
    func find(
        _ key: CacheKey,
        _ accept: @escaping @Sendable (Find) async -> Bool
    ) async -> (find: Find, isAccepted: Bool, isOthers: Bool) {
        let (present, isOthers) = running.withLock { running in
            if let present = running[key] { return (present, true) }
            let find = Find()
            // No caller's cancellation reaches it, because others wait for it. It ends by the
            // limits of the tier.
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

/// A lease that is given back when no part of an exchange holds it any more.
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

    /// Hands the lease on.
    func take() -> FleetLease? { lease.withLock { $0.take() } }
}
