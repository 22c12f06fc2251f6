/// An error from a fleet log. It never includes an entry's content.
package enum FleetLogError: Error, Sendable, Hashable {
    /// No server is reachable.
    case unreachable
    /// The deadline has passed.
    case timedOut
    /// The waiting task was canceled.
    case cancelled
    /// The log is not in the epoch that the caller expects, or has no epoch.
    case wrongEpoch
    /// The candidate is not higher than this epoch.
    case lowEpoch(UInt64)
    /// The server rejected the operation with this error code, such as `OOM` or `NOPERM`.
    case refused(String)
    /// The server's reply is malformed. The text names the malformed part.
    case malformed(String)
    /// An argument exceeds a limit. Nothing was sent.
    case limit(String)
}
