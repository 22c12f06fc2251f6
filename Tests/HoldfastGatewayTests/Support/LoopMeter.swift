import NIOCore
import NIOPosix
import Synchronization
import TestSupport

/// Measures how long an event loop is held: the processor time of its thread between two turns of a
/// timer. All that the loop does between two looks at its sockets counts, whatever its callback.
final class LoopMeter: Sendable {
    private struct State {
        var last: Duration?
        var longest = Duration.zero
        var isStopped = false

        /// Takes the time since the last turn.
        mutating func turn() {
            let now = ProcessorTime.ofThread()
            if let last { longest = max(longest, now - last) }
            last = now
        }
    }

    private static let interval = TimeAmount.microseconds(200)

    private let eventLoop: any EventLoop
    private let state = Mutex(State())

    private init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// Runs a body beside one event loop of its own.
    static func with(_ body: (MultiThreadedEventLoopGroup, LoopMeter) async throws -> Void) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let meter = LoopMeter(group.any())
        meter.eventLoop.execute { meter.turn() }
        let result: Result<Void, any Error>
        do { result = .success(try await body(group, meter)) } catch { result = .failure(error) }
        meter.state.withLock { $0.isStopped = true }
        try await group.shutdownGracefully()
        try result.get()
    }

    private func turn() {
        let isStopped = state.withLock { state in
            state.turn()
            return state.isStopped
        }
        if isStopped { return }
        eventLoop.scheduleTask(in: Self.interval) { self.turn() }  // lets time pass
    }

    /// The longest time between two turns since this was called last.
    func longest() async throws -> Duration {
        try await eventLoop.submit {
            self.state.withLock { state in
                state.turn()
                defer { state.longest = .zero }
                return state.longest
            }
        }.get()
    }
}
