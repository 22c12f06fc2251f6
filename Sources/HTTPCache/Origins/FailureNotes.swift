package import HTTPCacheSemantics

/// Remembers why an origin or a server failed, and decides when to log it: once per change, and the
/// same reason at most once a minute, because reasons may alternate. A pure value.
package struct FailureNotes: Sendable {
    /// The last failure; `nil` if the last request succeeded.
    package private(set) var last: FailureCause?
    /// When each reason was last logged.
    private var logged: [String: Timestamp] = [:]

    /// The minimum time between two log lines with the same reason.
    static let pause = Duration.seconds(60)

    package init() {}

    /// Records a failure.
    ///
    /// - Returns: whether to log it.
    package mutating func note(_ cause: FailureCause, at now: Timestamp) -> Bool {
        let isChange = last?.reason != cause.reason
        last = cause
        guard isChange else { return false }
        // A clock that was set back does not extend the pause.
        if let then = logged[cause.reason], now >= then, now < then.adding(Self.pause) { return false }
        logged[cause.reason] = now
        return true
    }

    /// Records a success.
    package mutating func succeed() {
        if last != nil { last = nil }
    }

    /// Records a failure, or a success if there is no cause.
    ///
    /// - Returns: whether to log it.
    package mutating func take(_ cause: FailureCause?, at now: Timestamp) -> Bool {
        if let cause { return note(cause, at: now) }
        succeed()
        return false
    }
}
