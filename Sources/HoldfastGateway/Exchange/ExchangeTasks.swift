import NIOCore
import Synchronization

/// Counts the work of exchanges that runs elsewhere and returns to their event loops: tasks and
/// disk lookups. The event loops must not shut down before this work ends, even if the client has
/// disconnected.
final class ExchangeTasks: Sendable {
    private struct State {
        var count = 0
        var waiting: [EventLoopPromise<Void>] = []
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.count } }

    func begin() { state.withLock { $0.count += 1 } }

    func end() {
        let waiting = state.withLock { state -> [EventLoopPromise<Void>] in
            state.count -= 1
            guard state.count == 0 else { return [] }
            defer { state.waiting = [] }
            return state.waiting
        }
        for promise in waiting { promise.succeed() }
    }

    /// Waits until no work is running, or until the time is up.
    ///
    /// - Returns: whether no work is running.
    func untilNone(within time: TimeAmount, on loop: any EventLoop) async -> Bool {
        let promise = loop.makePromise(of: Void.self)
        let isNone = state.withLock { state in
            if state.count > 0 { state.waiting.append(promise) }
            return state.count == 0
        }
        if isNone { promise.succeed() }
        let limit = loop.scheduleTask(in: time) { promise.succeed() }
        try? await promise.futureResult.get()
        limit.cancel()
        return count == 0
    }
}
