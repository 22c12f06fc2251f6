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

extension FleetLogError: CustomStringConvertible {
    /// The error in words, for operators.
    package var description: String {
        switch self {
        case .unreachable: "unreachable"
        case .timedOut: "the server did not reply in time"
        case .cancelled: "the call was canceled"
        case .wrongEpoch: "another server serves the log"
        case .lowEpoch: "the server knows a later epoch"
        case .refused(let code): "the server rejected a command with '\(code)'"
        case .malformed(let part): "the server sent a malformed reply: \(part)"
        case .limit(let what): "a limit was exceeded: \(what)"
        }
    }
}
