package import NIOCore
import Synchronization

/// Checks whether event loops respond. Each loop has at most one pending check.
package final class LoopWatch: Sendable {
    private let loops: [any EventLoop]
    /// The time of each loop's pending check; `nil` if the loop has responded.
    private let asked: Mutex<[NIODeadline?]>
    private let limit: Duration
    private let now: @Sendable () -> NIODeadline

    /// Creates a watch for event loops.
    ///
    /// - Parameters:
    ///   - limit: the time limit for a loop's response.
    ///   - now: the monotonic clock.
    package init(
        _ loops: [any EventLoop],
        limit: Duration = .seconds(2),
        now: @escaping @Sendable () -> NIODeadline = { .now() }
    ) {
        self.loops = loops
        self.limit = limit
        self.now = now
        asked = Mutex(Array(repeating: nil, count: loops.count))
    }

    /// Returns the indexes of the loops that did not respond within the limit.
    package func stuckLoops() async -> [Int] {
        for (index, loop) in loops.enumerated() { ask(index, loop) }
        var pause = Duration.milliseconds(1)
        while true {
            let now = now()
            let waiting = asked.withLock { asked in
                asked.enumerated().compactMap { index, since in since.map { (index, now - $0) } }
            }
            let stuck = waiting.filter { $0.1 >= TimeAmount(limit) }.map(\.0)
            if stuck.count == waiting.count { return stuck }
            try? await Task.sleep(for: pause)
            // The caller was canceled, and no longer needs a result.
            if Task.isCancelled { return stuck }
            pause = min(pause * 2, .milliseconds(50))
        }
    }

    /// The indexes of the loops that have a pending check.
    package var waitingLoops: [Int] { asked.withLock { asked in asked.indices.filter { asked[$0] != nil } } }

    private func ask(_ index: Int, _ loop: any EventLoop) {
        let now = now()
        let isAsked = asked.withLock { asked in
            defer { asked[index] = asked[index] ?? now }
            return asked[index] != nil
        }
        guard !isAsked else { return }
        loop.execute { self.asked.withLock { $0[index] = nil } }
    }
}
