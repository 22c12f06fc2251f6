/// How a tunnel ended: the label `result` of `holdfast_tunnels_total`.
enum TunnelEnding: String, CaseIterable {
    /// A side closed the tunnel cleanly.
    case closed
    /// The client reset its connection, or disconnected before the end.
    case clientAborted = "client-aborted"
    /// The origin reset its connection, or disconnected before the end.
    case originAborted = "origin-aborted"
    /// No bytes passed for too long.
    case idle
    /// The gateway shut down, and the time for draining was up.
    case drained
}

extension TunnelEnding {
    /// The reason why a tunnel with this ending was cut short; `nil` if it was not.
    var abort: ExchangeRecord.Abort? {
        switch self {
        case .closed: nil
        case .clientAborted: .client
        case .originAborted: .content
        case .idle: .idle
        case .drained: .drained
        }
    }
}
