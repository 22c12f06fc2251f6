import NIOCore
import Synchronization

/// The tasks of exchanges that run. The event loops must not end before them: a task of a client
/// that has left still goes to its loop to end.
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

    /// Returns when none runs, or when the time is over.
    func untilNone(within time: TimeAmount, on loop: any EventLoop) async {
        let promise = loop.makePromise(of: Void.self)
        let isNone = state.withLock { state in
            if state.count > 0 { state.waiting.append(promise) }
            return state.count == 0
        }
        if isNone { promise.succeed() }
        let limit = loop.scheduleTask(in: time) { promise.succeed() }
        try? await promise.futureResult.get()
        limit.cancel()
    }
}
