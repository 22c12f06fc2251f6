import Synchronization

/// The bodies that this process is reading or writing. The sweep skips them.
///
/// The sweep claims a body before removing it. A claimed body cannot be leased, and a leased body
/// cannot be claimed, so there is no gap between the check and the removal.
package final class LeaseTable: Sendable {
    private struct State {
        var counts: [Int64: Int] = [:]
        var claimed: Set<Int64> = []
        /// Leased bodies without an entry. They are swept when their last lease is released.
        var sweepable: Set<Int64> = []
        /// Leased bodies that are being written and have no entry yet.
        var unfinished: Set<Int64> = []
        /// The bytes of leased bodies that lost their entry.
        var held: [Int64: Int64] = [:]
        var heldBytes: Int64 = 0
        var onRelease: (@Sendable () -> Void)?

        func mayHold(_ bodyID: Int64) -> Bool {
            held[bodyID] == nil && counts[bodyID] != nil && !unfinished.contains(bodyID)
        }
    }

    private let state = Mutex(State())

    package init() {}

    /// Sets the action to run when a body that must be swept loses its last lease.
    package func whenSweepableIsReleased(_ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.onRelease = action }
    }

    /// Leases a body; `nil` if it is being removed.
    package func acquire(_ bodyID: Int64, isUnfinished: Bool = false) -> Lease? {
        let isGranted = state.withLock { state in
            guard !state.claimed.contains(bodyID) else { return false }
            state.counts[bodyID, default: 0] += 1
            if isUnfinished {
                state.sweepable.insert(bodyID)
                state.unfinished.insert(bodyID)
            }
            return true
        }
        return isGranted ? Lease(bodyID: bodyID, table: self) : nil
    }

    /// Claims a body for removal. Returns `false` if the body is leased; the body is then removed
    /// after its release.
    package func claim(_ bodyID: Int64) -> Bool {
        state.withLock { state in
            if state.counts[bodyID] != nil {
                state.sweepable.insert(bodyID)
                return false
            }
            state.claimed.insert(bodyID)
            return true
        }
    }

    /// Ends claims, because the bodies are gone or their removal was rolled back.
    package func endClaims(_ bodyIDs: [Int64]) {
        state.withLock { $0.claimed.subtract(bodyIDs) }
    }

    /// Records that an unfinished body now has an entry.
    package func markFinished(_ bodyID: Int64) {
        state.withLock { state in
            state.sweepable.remove(bodyID)
            state.unfinished.remove(bodyID)
        }
    }

    /// Returns whether a body is being read or written in this process.
    package func isLeased(_ bodyID: Int64) -> Bool {
        state.withLock { $0.counts[bodyID] != nil }
    }

    // MARK: Bodies that readers hold

    /// The bytes of bodies that lost their entry and are still being read. Only the readers can
    /// free them.
    ///
    /// Unfinished bodies are not included, because their space was reserved.
    package var heldBytes: Int64 { state.withLock { $0.heldBytes } }

    /// Whether a body's bytes should be reported with ``noteHeld(_:bytes:)``.
    package func isUnmeasured(_ bodyID: Int64) -> Bool {
        state.withLock { $0.mayHold(bodyID) }
    }

    /// Records the bytes of a body that should be removed but is being read.
    package func noteHeld(_ bodyID: Int64, bytes: Int64) {
        state.withLock { state in
            guard state.mayHold(bodyID) else { return }
            state.held[bodyID] = bytes
            state.heldBytes += bytes
        }
    }

    /// The number of leased bodies.
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
            return state.sweepable.remove(bodyID) == nil ? nil : state.onRelease
        }
        action?()
    }
}

/// Keeps one body readable until it is released.
package final class Lease: Sendable {
    package let bodyID: Int64
    private let table: LeaseTable

    fileprivate init(bodyID: Int64, table: LeaseTable) {
        self.bodyID = bodyID
        self.table = table
    }

    deinit { table.release(bodyID) }
}
