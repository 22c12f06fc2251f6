import FleetTier
import Synchronization

/// A queue in which callers take turns, in order of arrival.
final class ChunkQueue: Sendable {
    private struct State {
        var isBusy = false
        var waiting: [Ticket] = []
    }

    private let state = Mutex(State())
    private let sleep: @Sendable (Duration) async throws -> Void

    /// - Parameter clock: the clock for the callers' time limits.
    init<C: Clock>(clock: C) where C.Duration == Duration {
        sleep = { try await clock.sleep(for: $0) }
    }

    /// The number of waiting callers.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Waits for the caller's turn. Call ``end()`` when the turn is finished.
    ///
    /// - Throws: ``FleetTier/FleetLogError/timedOut`` or ``FleetTier/FleetLogError/cancelled``; in
    ///   both cases, do not call ``end()``.
    func begin(within limit: Duration) async throws(FleetLogError) {
        let turn = Ticket()
        let isFree = state.withLock { state in
            if state.isBusy { state.waiting.append(turn) }
            defer { state.isBusy = true }
            return !state.isBusy
        }
        guard !isFree else { return }
        await withTaskGroup { group in
            group.addTask { await turn.wait() }
            group.addTask { [sleep] in
                try? await sleep(limit)
                turn.end(isGiven: false)
            }
            // When one of the two tasks finishes, cancel the other.
            await group.next()
            group.cancelAll()
        }
        guard !turn.isGiven else { return }
        state.withLock { state in state.waiting.removeAll { $0 === turn } }
        throw Task.isCancelled ? .cancelled : .timedOut
    }

    /// Passes the turn to the next caller that is still waiting.
    func end() {
        state.withLock { state in
            while !state.waiting.isEmpty {
                if state.waiting.removeFirst().end(isGiven: true) { return }
            }
            state.isBusy = false
        }
    }
}

/// The turn of one caller.
private final class Ticket: Sendable {
    private struct State {
        var isGiven: Bool?
        var continuation: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    var isGiven: Bool { state.withLock { $0.isGiven ?? false } }

    func wait() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if state.isGiven == nil { state.continuation = continuation }
                return state.isGiven != nil
            }
            if hasEnded { continuation.resume() }
        }
    }

    /// - Returns: whether this was the first call. Only the first call has an effect.
    @discardableResult
    func end(isGiven: Bool) -> Bool {
        let (isFirst, continuation) = state.withLock { state in
            guard state.isGiven == nil else { return (false, nil as CheckedContinuation<Void, Never>?) }
            state.isGiven = isGiven
            return (true, state.continuation.take())
        }
        continuation?.resume()
        return isFirst
    }
}
