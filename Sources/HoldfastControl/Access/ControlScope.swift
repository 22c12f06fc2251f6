/// The operations that a client of the control plane may use. Each scope includes the smaller ones.
public enum ControlScope: String, Sendable, Hashable, Codable, CaseIterable, Comparable {
    /// Operations that change nothing.
    case read
    /// Also purges.
    case purge
    /// Every operation.
    case operate

    /// Whether the right scope includes the left one and more.
    public static func < (lhs: ControlScope, rhs: ControlScope) -> Bool { lhs.rank < rhs.rank }

    private var rank: Int {
        switch self {
        case .read: 0
        case .purge: 1
        case .operate: 2
        }
    }
}

/// The client behind a request of the control plane.
struct ControlClient: Sendable, Hashable {
    /// For the log and the history: `uid 1000` on the socket, the token's name over TCP. Token
    /// names have no spaces, so no token looks like a user.
    var name: String
    var scope: ControlScope
}
