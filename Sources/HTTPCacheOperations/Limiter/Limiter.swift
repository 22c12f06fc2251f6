import Synchronization

/// Limits the number of concurrent operations and the number of waiting operations.
package final class Limiter: Sendable {
    /// The reason that an operation gets no permit.
    package enum NoPermit: Error, Sendable, Hashable {
        /// Too many operations are waiting.
        case isFull
        /// The limiter has ended.
        case hasEnded
    }

    private struct State: Sendable {
        var limiter: LimiterState
        var next = 0
        var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
    }

    private let state: Mutex<State>

    package init(permits: Int, waitingLimit: Int) {
        state = Mutex(State(limiter: LimiterState(permits: permits, waitingLimit: waitingLimit)))
    }

    /// The number of waiting operations.
    package var waiting: Int { state.withLock { $0.waiters.count } }

    /// Waits for a permit. Call ``leave()`` to return it.
    ///
    /// - Throws: ``NoPermit``; `CancellationError` if the task is canceled while it waits.
    package func enter() async throws {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try Task.checkCancellation()
            try await withCheckedThrowingContinuation { continuation in
                let arrival = state.withLock { state in
                    let arrival = state.limiter.arrive(id)
                    if arrival == .wait { state.waiters[id] = continuation }
                    return arrival
                }
                switch arrival {
                case .enter: continuation.resume()
                case .wait:
                    // The task may have been canceled before it was added to the queue.
                    if Task.isCancelled { stopWaiting(id) }
                case .isFull: continuation.resume(throwing: NoPermit.isFull)
                case .hasEnded: continuation.resume(throwing: NoPermit.hasEnded)
                }
            }
        } onCancel: {
            stopWaiting(id)
        }
    }

    /// Returns a permit from ``enter()``.
    package func leave() {
        let next = state.withLock { state in state.limiter.leave().flatMap { state.waiters.removeValue(forKey: $0) } }
        next?.resume()
    }

    /// Rejects all operations from now on. Waiting operations fail with ``NoPermit/hasEnded``.
    package func end() {
        let waiters = state.withLock { state in
            state.limiter.end().compactMap { state.waiters.removeValue(forKey: $0) }
        }
        for waiter in waiters { waiter.resume(throwing: NoPermit.hasEnded) }
    }

    private func stopWaiting(_ id: Int) {
        let waiter = state.withLock { state in
            state.limiter.stopWaiting(id) ? state.waiters.removeValue(forKey: id) : nil
        }
        waiter?.resume(throwing: CancellationError())
    }
}
