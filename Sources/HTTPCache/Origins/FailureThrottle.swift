package import HTTPCacheSemantics
import HTTPTypes
import Synchronization

/// Remembers for a short while how an origin failed for a key. So a stored response that is served
/// instead does not cause a new request each time.
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

    /// The most keys. Beyond that all are forgotten, which costs some requests and no more.
    static let limit = 4096

    private let entries = Mutex<[CacheKey: Entry]>([:])
    private let currentDuration: Mutex<Duration>

    init(duration: Duration) { currentDuration = Mutex(duration) }

    private var duration: Duration { currentDuration.withLock { $0 } }

    func reconfigure(duration: Duration) { currentDuration.withLock { $0 = duration } }

    /// The failure that a request at `now` would repeat.
    func recent(_ key: CacheKey, at now: Timestamp) -> Failure? {
        let duration = duration
        guard duration > .zero else { return nil }
        return entries.withLock { entries in
            guard let entry = entries[key] else { return nil }
            // A clock that was set back ends the entry too.
            if now >= entry.since, now < entry.since.adding(duration) { return entry.failure }
            entries[key] = nil
            return nil
        }
    }

    /// The failure that a request at `now` would repeat, and its end. Nothing is forgotten.
    package func peek(_ key: CacheKey, at now: Timestamp) -> (failure: Failure, until: Timestamp)? {
        let duration = duration
        guard let entry = entries.withLock({ $0[key] }), duration > .zero else { return nil }
        let until = entry.since.adding(duration)
        return now >= entry.since && now < until ? (entry.failure, until) : nil
    }

    func note(_ failure: Failure, _ key: CacheKey, at now: Timestamp) {
        let duration = duration
        guard duration > .zero else { return }
        entries.withLock { entries in
            if entries.count >= Self.limit {
                entries = entries.filter { now >= $0.value.since && now < $0.value.since.adding(duration) }
                if entries.count >= Self.limit { entries = [:] }
            }
            entries[key] = Entry(failure: failure, since: now)
        }
    }

    /// Records the status of the origin's response.
    func note(_ status: HTTPResponse.Status, _ key: CacheKey, at now: Timestamp) {
        if status.isServerFailure { note(.status(status.code), key, at: now) } else { clear(key) }
    }

    private func clear(_ key: CacheKey) {
        entries.withLock { if !$0.isEmpty { $0[key] = nil } }
    }
}
