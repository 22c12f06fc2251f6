import Synchronization

/// Which bodies somebody in this process is reading or writing, so that sweeping leaves them alone.
///
/// The gap between "nobody reads it" and "it is removed" is closed by claiming: a body that the
/// sweeper claimed cannot be leased any more, and a leased one cannot be claimed.
final class LeaseTable: Sendable {
    private struct State {
        var counts: [Int64: Int] = [:]
        var claimed: Set<Int64> = []
        /// Leased bodies that no entry names any more: to be swept when the last lease goes.
        var condemned: Set<Int64> = []
        /// Leased bodies that are being written and have no entry yet.
        var unfinished: Set<Int64> = []
        /// Bytes of leased bodies that no entry names any more.
        var held: [Int64: Int64] = [:]
        var heldBytes: Int64 = 0
        var onRelease: (@Sendable () -> Void)?

        func mayHold(_ bodyID: Int64) -> Bool {
            held[bodyID] == nil && counts[bodyID] != nil && !unfinished.contains(bodyID)
        }
    }

    private let state = Mutex(State())

    /// Called whenever a condemned body lost its last lease.
    func whenCondemnedIsReleased(_ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.onRelease = action }
    }

    /// Leases a body; `nil` when it is being removed right now.
    func acquire(_ bodyID: Int64, isCondemned: Bool = false) -> Lease? {
        let isGranted = state.withLock { state in
            guard !state.claimed.contains(bodyID) else { return false }
            state.counts[bodyID, default: 0] += 1
            if isCondemned {
                state.condemned.insert(bodyID)
                state.unfinished.insert(bodyID)
            }
            return true
        }
        return isGranted ? Lease(bodyID: bodyID, table: self) : nil
    }

    /// Claims a body for removal; `false` when it is leased, and then it is removed after its
    /// release.
    func claim(_ bodyID: Int64) -> Bool {
        state.withLock { state in
            if state.counts[bodyID] != nil {
                state.condemned.insert(bodyID)
                return false
            }
            state.claimed.insert(bodyID)
            return true
        }
    }

    /// Gives claims back: the bodies are gone, or their removal was rolled back.
    func endClaims(_ bodyIDs: some Sequence<Int64>) {
        state.withLock { $0.claimed.subtract(bodyIDs) }
    }

    /// A body that was unfinished has an entry now.
    func pardon(_ bodyID: Int64) {
        state.withLock { state in
            state.condemned.remove(bodyID)
            state.unfinished.remove(bodyID)
        }
    }

    /// Whether somebody reads or writes a body now.
    func isLeased(_ bodyID: Int64) -> Bool {
        state.withLock { $0.counts[bodyID] != nil }
    }

    // MARK: What readers hold

    /// Bytes of bodies that no entry names any more and that somebody still reads: nothing but the
    /// readers' end gives them back.
    ///
    /// Without those of unfinished bodies, for which room was reserved.
    var heldBytes: Int64 { state.withLock { $0.heldBytes } }

    /// Whether a body's bytes should be told with ``noteHeld(_:bytes:)``.
    func isUnmeasured(_ bodyID: Int64) -> Bool {
        state.withLock { $0.mayHold(bodyID) }
    }

    /// Notes how much a body takes that was to be removed and is being read.
    func noteHeld(_ bodyID: Int64, bytes: Int64) {
        state.withLock { state in
            guard state.mayHold(bodyID) else { return }
            state.held[bodyID] = bytes
            state.heldBytes += bytes
        }
    }

    /// Leases held now.
    var count: Int { state.withLock { $0.counts.count } }

    fileprivate func release(_ bodyID: Int64) {
        let action = state.withLock { state -> (@Sendable () -> Void)? in
            guard let count = state.counts[bodyID] else { return nil }
            if count > 1 {
                state.counts[bodyID] = count - 1
                return nil
            }
            state.counts[bodyID] = nil
            state.unfinished.remove(bodyID)
            if let bytes = state.held.removeValue(forKey: bodyID) { state.heldBytes -= bytes }
            return state.condemned.remove(bodyID) == nil ? nil : state.onRelease
        }
        action?()
    }
}

/// Keeps one body readable for as long as it lives.
final class Lease: Sendable {
    let bodyID: Int64
    private let table: LeaseTable

    fileprivate init(bodyID: Int64, table: LeaseTable) {
        self.bodyID = bodyID
        self.table = table
    }

    deinit { table.release(bodyID) }
}
