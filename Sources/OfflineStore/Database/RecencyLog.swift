import Synchronization

/// Which entries were used since the last flush, and in which order.
///
/// Reading writes here and never to disk; the writer takes what has gathered along with its own work. The order is a
/// counter and no time, so a clock that jumps does not turn it around.
final class RecencyLog: Sendable {
    /// Uses that are worth a flush.
    static let flushCount = 1024
    /// Uses that one transaction writes at most: each touches pages of its own, and all of them go to the log.
    private static let takeCount = 2 * flushCount
    /// Uses kept while flushing is impossible; the ones after are forgotten.
    private static let limit = 65_536

    private struct State {
        var used: [Int64: Int64] = [:]
        var last: Int64
    }

    private let state: Mutex<State>

    /// - Parameter last: the highest number on disk.
    init(last: Int64) {
        state = Mutex(State(last: last))
    }

    /// Notes that an entry was used; `true` when it is time to flush.
    func use(_ entryID: Int64) -> Bool {
        state.withLock { state in
            state.last += 1
            if state.used.count < Self.limit || state.used[entryID] != nil { state.used[entryID] = state.last }
            return state.used.count == Self.flushCount
        }
    }

    /// The number for an entry that is stored now.
    func next() -> Int64 {
        state.withLock { state in
            state.last += 1
            return state.last
        }
    }

    var count: Int { state.withLock { $0.used.count } }

    /// Takes what has gathered: as much as one transaction writes, and the rest the next time.
    func take() -> [Int64: Int64] {
        state.withLock { state in
            guard state.used.count > Self.takeCount else {
                defer { state.used = [:] }
                return state.used
            }
            let taken = Dictionary(uniqueKeysWithValues: state.used.prefix(Self.takeCount).map { ($0.key, $0.value) })
            for id in taken.keys { state.used[id] = nil }
            return taken
        }
    }

    /// Puts back what could not be written; later uses stay.
    func putBack(_ used: [Int64: Int64]) {
        state.withLock { state in
            guard state.used.count + used.count <= Self.limit else { return }
            state.used.merge(used) { max($0, $1) }
        }
    }
}
