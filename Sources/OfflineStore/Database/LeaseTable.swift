import Synchronization

/// Which bodies somebody in this process is reading or writing, so that sweeping leaves them alone.
///
/// The gap between "nobody reads it" and "it is removed" is closed by claiming: a body that the sweeper claimed cannot be
/// leased any more, and a leased one cannot be claimed.
final class LeaseTable: Sendable {
    private struct State {
        var counts: [Int64: Int] = [:]
        var claimed: Set<Int64> = []
        /// Leased bodies that no entry names any more: to be swept when the last lease goes.
        var condemned: Set<Int64> = []
        var onRelease: (@Sendable () -> Void)?
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
            if isCondemned { state.condemned.insert(bodyID) }
            return true
        }
        return isGranted ? Lease(bodyID: bodyID, table: self) : nil
    }

    /// Claims a body for removal; `false` when it is leased, and then it is removed after its release.
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
        state.withLock { _ = $0.condemned.remove(bodyID) }
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
