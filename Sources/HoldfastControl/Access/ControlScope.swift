/// The operations that a client of the control plane may use. A greater scope includes the smaller
/// ones.
public enum ControlScope: String, Sendable, Hashable, Codable, CaseIterable, Comparable {
    /// Operations that change nothing.
    case read
    /// Purges too.
    case purge
    /// Every operation.
    case operate

    /// Whether the right one includes the left one and more.
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
    /// For log and history: `uid 1000` on the socket, the token's name by TCP. No name of a token
    /// has a space, so none looks like a user.
    var name: String
    var scope: ControlScope
}
