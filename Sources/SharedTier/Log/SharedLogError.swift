/// An error of a shared log. It holds no content of an entry.
package enum SharedLogError: Error, Sendable, Hashable {
    /// There is no server now.
    case unreachable
    /// The deadline has passed.
    case timedOut
    /// The waiting task was cancelled.
    case cancelled
    /// The log is in another epoch than the caller believes, or in none.
    case wrongEpoch
    /// The candidate is not above this epoch.
    case lowEpoch(UInt64)
    /// The server rejected the operation, with this word, such as `OOM` or `NOPERM`.
    case refused(String)
    /// The server's reply has not the form that it must have. The text names the part.
    case malformed(String)
    /// An argument exceeds a limit. Nothing was sent.
    case limit(String)
}
