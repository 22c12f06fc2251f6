import Synchronization

/// The policy for connecting and probing.
package struct SupervisorPolicy: Sendable, Hashable {
    /// The maximum pause after the first failure. Each further consecutive failure doubles it, up
    /// to ``longestPause``.
    package var shortestPause = Duration.milliseconds(50)
    /// The maximum pause after any number of failures. A connection that lasts this long counts as
    /// working.
    package var longestPause = Duration.seconds(5)
    /// The number of consecutive failures that open the breaker.
    package var failures = 5
    /// The time limit for the reply to a probe.
    package var probeTime = Duration.milliseconds(250)

    /// Creates the default policy.
    package init() {}

    /// Returns the pause before an attempt: a random time between half of the limit and the limit,
    /// so that the nodes of a fleet do not reconnect at the same moment.
    ///
    /// - Parameters:
    ///   - attempt: the number of the attempt, starting at 1.
    ///   - jitter: a number from 0 to 1.
    func pause(_ attempt: Int, jitter: Double) -> Duration {
        let doubled = shortestPause * (1 << min(max(attempt - 1, 0), 20))
        return min(doubled, longestPause) * (0.5 + min(max(jitter, 0), 1) / 2)
    }
}

/// The state of a server's connection.
package enum SupervisorState: UInt8, Sendable, Hashable, AtomicRepresentable {
    /// There is no connection. Commands fail immediately.
    case unreachable
    /// Commands are sent.
    case ready
    /// There is a connection, but the breaker is open. Commands fail immediately.
    case suspended
    /// The supervisor has ended.
    case ended
}
