import Synchronization

/// Space for bodies on disk that have no entry yet. They cannot be evicted, so they get a limited
/// share of the budget.
package final class SpaceReservation: Sendable {
    private struct State {
        var reserved: Int64 = 0
        var waiters: [(bytes: Int64, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let limit: Int64
    private let state = Mutex(State())

    package init(limit: Int64) {
        self.limit = limit
    }

    /// Reserves space if it is available.
    package func reserve(_ bytes: Int64) -> Bool {
        // A body that needs no space does not wait for others.
        if bytes == 0 { return true }
        return state.withLock { state in
            guard state.waiters.isEmpty, state.reserved + bytes <= limit else { return false }
            state.reserved += bytes
            return true
        }
    }

    /// Waits in line until space is available, and reserves it. Waiting callers hold no space, so
    /// they do not block each other.
    package func reserveInTurn(_ bytes: Int64) async {
        if bytes == 0 { return }
        await withCheckedContinuation { continuation in
            let isReserved = state.withLock { state in
                guard state.waiters.isEmpty, state.reserved + bytes <= limit else {
                    state.waiters.append((bytes, continuation))
                    return false
                }
                state.reserved += bytes
                return true
            }
            if isReserved { continuation.resume() }
        }
    }

    /// Releases space.
    package func release(_ bytes: Int64) {
        if bytes == 0 { return }
        let admitted = state.withLock { state in
            state.reserved -= bytes
            var admitted: [CheckedContinuation<Void, Never>] = []
            while let first = state.waiters.first, state.reserved == 0 || state.reserved + first.bytes <= limit {
                state.reserved += first.bytes
                admitted.append(first.continuation)
                state.waiters.removeFirst()
            }
            return admitted
        }
        for continuation in admitted { continuation.resume() }
    }
}
