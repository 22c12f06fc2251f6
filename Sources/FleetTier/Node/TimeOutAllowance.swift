/// Tolerates one timeout of a fleet log between two successes.
///
/// A process that is busy for the length of ``InvalidationSharing/Settings-swift.struct/timeout``
/// has not lost contact with its log. A call that timed out confirms nothing: an outage is detected
/// one call later, and the lease is not extended, so it still expires on time.
package struct TimeOutAllowance: Sendable {
    private var isSpent = false

    package init() {}

    /// Returns whether work may continue after an error.
    package mutating func passes(_ error: any Error) -> Bool {
        guard !isSpent, case FleetLogError.timedOut = error else { return false }
        isSpent = true
        return true
    }

    /// Records a success.
    package mutating func renew() { isSpent = false }
}
