package import HTTPCacheSemantics
import HTTPTypes
import Synchronization

/// Remembers for a short time how an origin failed for a key, so that stored responses can be
/// served without a new request to the origin each time.
package final class FailureThrottle: Sendable {
    /// How the origin failed.
    package enum Failure: Sendable, Hashable {
        case unreachable
        case status(Int)
    }

    private struct Entry {
        var failure: Failure
        var since: Timestamp
    }

    private struct State {
        var duration: Duration
        var entries: [StoreKey: Entry] = [:]
    }

    /// The maximum number of keys. If there are more, all are dropped, which only costs a few
    /// requests.
    static let limit = 4096

    private let state: Mutex<State>

    init(duration: Duration) { state = Mutex(State(duration: duration)) }

    func reconfigure(duration: Duration) { state.withLock { $0.duration = duration } }

    /// Returns the recent failure that still counts at `now`, and when it stops counting; `nil` if
    /// there is none.
    package func recent(_ key: StoreKey, at now: Timestamp) -> (failure: Failure, until: Timestamp)? {
        state.withLock { state in
            guard let entry = state.entries[key] else { return nil }
            let until = entry.since.adding(state.duration)
            // A clock that was set back also ends the entry.
            return now >= entry.since && now < until ? (entry.failure, until) : nil
        }
    }

    func note(_ failure: Failure, _ key: StoreKey, at now: Timestamp) {
        state.withLock { state in
            guard state.duration > .zero else { return }
            if state.entries.count >= Self.limit {
                let duration = state.duration
                state.entries = state.entries.filter { now >= $0.value.since && now < $0.value.since.adding(duration) }
                if state.entries.count >= Self.limit { state.entries = [:] }
            }
            state.entries[key] = Entry(failure: failure, since: now)
        }
    }

    /// Records the status of the origin's response.
    func note(_ status: HTTPResponse.Status, _ key: StoreKey, at now: Timestamp) {
        if status.isServerFailure { return note(.status(status.code), key, at: now) }
        state.withLock { if !$0.entries.isEmpty { $0.entries[key] = nil } }
    }
}

extension HTTPResponse.Status {
    /// Whether `stale-if-error` applies to this status. RFC 5861 §4
    var isServerFailure: Bool { [500, 502, 503, 504].contains(code) }
}
