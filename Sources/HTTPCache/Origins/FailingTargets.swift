import HTTPCacheSemantics

/// The identity of a request for a breaker: its target, and everything that its client sent.
package struct AskedTarget: Sendable, Hashable {
    /// A hash of the target.
    package let target: Int
    /// A hash of the target, the method and the fields.
    package let request: Int

    package init(target: Int, request: Int) { (self.target, self.request) = (target, request) }
}

/// The requests that recently failed at an origin, each with its own back-off. Pure and bounded.
///
/// Only a request with enough consecutive failures is rejected. A request for the same target with
/// other fields is sent. Otherwise, a client could block any target for all clients by sending
/// fields that make the origin close the connection.
struct FailingTargets: Sendable, Hashable {
    private struct Entry: Sendable, Hashable {
        let asked: AskedTarget
        var failures = 0
        var failedAt: Timestamp
        /// When the request may be sent again.
        var nextTry: Timestamp
    }

    /// Oldest failure first.
    private var entries: [Entry] = []

    /// The maximum number of remembered requests. If there are more, the request with the oldest
    /// failure is forgotten, so it is sent again.
    static let limit = 64
    static let firstPause = Duration.seconds(1)
    static let longestPause = Duration.seconds(8)
    /// How long a failure is remembered.
    static let memory = Duration.seconds(60)

    var isEmpty: Bool { entries.isEmpty }

    func contains(target: Int) -> Bool { entries.contains { $0.asked.target == target } }

    /// Returns whether the request failed so often that it is not sent now.
    func refuses(_ asked: AskedTarget, at now: Timestamp) -> Bool {
        guard !entries.isEmpty, let entry = entries.first(where: { $0.asked == asked }) else { return false }
        // A clock that was set back also ends the wait.
        return now < entry.nextTry && now >= entry.failedAt
    }

    mutating func failed(_ asked: AskedTarget, threshold: Int, at now: Timestamp) {
        var entry = Entry(asked: asked, failedAt: now, nextTry: now)
        if let index = entries.firstIndex(where: { $0.asked == asked }) {
            entry = entries.remove(at: index)
        } else if entries.count >= Self.limit {
            entries.removeFirst()
        }
        // Concurrent requests count as one try.
        let isTry = now >= entry.nextTry || now < entry.failedAt
        entry.failedAt = now
        if isTry {
            entry.failures += 1
            if entry.failures >= threshold {
                let doubled = Self.firstPause * (1 << min(entry.failures - threshold, 10))
                entry.nextTry = now.adding(min(doubled, Self.longestPause))
            }
        }
        entries.append(entry)
    }

    /// Forgets the failures of a target after the origin responded for it, whatever the client.
    mutating func succeeded(_ asked: AskedTarget) {
        if !entries.isEmpty { entries.removeAll { $0.asked.target == asked.target } }
    }

    mutating func forget(at now: Timestamp) {
        // Event loops read the clock before they get the lock, so a failure may be slightly in the
        // future.
        entries.removeAll { $0.failedAt.isAhead(of: now) || now >= $0.failedAt.adding(Self.memory) }
    }
}
