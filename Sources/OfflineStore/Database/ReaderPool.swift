import GRDB
import Synchronization

/// The read-only connections, each used by one caller at a time.
///
/// A read is one statement and no transaction is held across an `await`, so a log never grows because of a reader.
final class ReaderPool: Sendable {
    private struct State {
        var free: [DatabaseQueue]
        var next = 0
    }

    private let all: [DatabaseQueue]
    private let state: Mutex<State>

    init(count: Int, open: () throws -> DatabaseQueue) throws {
        all = try (0..<max(1, count)).map { _ in try open() }
        state = Mutex(State(free: all))
    }

    /// Lends a connection, a free one where there is one, else one that will be free soon.
    func read<Result>(_ body: (Connection) throws -> Result) throws -> Result {
        let (queue, isTaken) = state.withLock { state -> (DatabaseQueue, Bool) in
            if let queue = state.free.popLast() { return (queue, true) }
            state.next = (state.next + 1) % all.count
            return (all[state.next], false)
        }
        defer {
            if isTaken { state.withLock { $0.free.append(queue) } }
        }
        return try queue.unsafeRead { try body(Connection($0)) }
    }

    /// Waits for the reads that are under way, then closes.
    func close() {
        for queue in all { try? queue.close() }
    }
}
