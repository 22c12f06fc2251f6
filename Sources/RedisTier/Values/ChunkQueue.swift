import FleetTier
import Synchronization

/// Lets callers act one at a time, in the order of their arrival.
final class ChunkQueue: Sendable {
    private struct State {
        var isBusy = false
        var waiting: [Ticket] = []
    }

    private let state = Mutex(State())
    private let sleep: @Sendable (Duration) async throws -> Void

    /// - Parameter clock: on which callers wait.
    init<C: Clock>(clock: C) where C.Duration == Duration {
        sleep = { try await clock.sleep(for: $0) }
    }

    /// How many callers wait.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Waits until it is the caller's turn. Call ``end()`` afterwards.
    ///
    /// - Throws: ``FleetTier/FleetLogError/timedOut`` or ``FleetTier/FleetLogError/cancelled``;
    ///   then it is not the caller's turn.
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
            // When either ends, the other is cancelled.
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

    /// - Returns: whether this was the first end. Only the first counts.
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
