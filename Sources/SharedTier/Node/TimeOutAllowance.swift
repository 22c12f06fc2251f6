/// Lets one time-out of a shared log pass between two successes.
///
/// A process that is busy for the length of ``InvalidationSharing/Settings-swift.struct/timeout``
/// has not lost its log. Nothing that a call might have confirmed counts as confirmed, so an
/// outage is noticed by one call later, and a contact ends when it would have ended anyway.
package struct TimeOutAllowance: Sendable {
    private var isSpent = false

    package init() {}

    /// Whether the work may continue after an error.
    package mutating func passes(_ error: any Error) -> Bool {
        guard !isSpent, case SharedLogError.timedOut = error else { return false }
        isSpent = true
        return true
    }

    /// Notes a success.
    package mutating func renew() { isSpent = false }
}
