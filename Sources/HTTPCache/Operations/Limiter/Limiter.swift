import Synchronization

/// Makes operations wait for their turn, and limits how many wait.
package final class Limiter: Sendable {
    /// Why an operation gets no turn.
    package enum Refusal: Error, Sendable, Hashable {
        /// Too many wait.
        case isFull
        /// The queue has ended.
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

    /// How many wait.
    package var waiting: Int { state.withLock { $0.waiters.count } }

    /// Waits for a turn. ``leave()`` ends it.
    ///
    /// - Throws: ``Refusal``; `CancellationError` if the task was cancelled while it waited.
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
                    // The task may have been cancelled before the queue knew of it.
                    if Task.isCancelled { stopWaiting(id) }
                case .isFull: continuation.resume(throwing: Refusal.isFull)
                case .hasEnded: continuation.resume(throwing: Refusal.hasEnded)
                }
            }
        } onCancel: {
            stopWaiting(id)
        }
    }

    /// Ends a turn that ``enter()`` gave.
    package func leave() {
        let next = state.withLock { state in state.limiter.leave().flatMap { state.waiters.removeValue(forKey: $0) } }
        next?.resume()
    }

    /// Lets no one in from now on. Those that wait get ``Refusal/hasEnded``.
    package func end() {
        let waiters = state.withLock { state in
            state.limiter.end().compactMap { state.waiters.removeValue(forKey: $0) }
        }
        for waiter in waiters { waiter.resume(throwing: Refusal.hasEnded) }
    }

    private func stopWaiting(_ id: Int) {
        let waiter = state.withLock { state in
            state.limiter.stopWaiting(id) ? state.waiters.removeValue(forKey: id) : nil
        }
        waiter?.resume(throwing: CancellationError())
    }
}
