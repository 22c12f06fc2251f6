/// The operations that a client of the control plane may use. Each scope includes the smaller
/// scopes.
package enum ControlScope: String, Sendable, Hashable, Codable, CaseIterable, Comparable {
    /// Read-only operations.
    case read
    /// Read-only operations and purges.
    case purge
    /// Every operation.
    case operate

    /// Returns whether the right scope allows more operations than the left scope.
    package static func < (lhs: ControlScope, rhs: ControlScope) -> Bool { lhs.rank < rhs.rank }

    private var rank: Int {
        switch self {
        case .read: 0
        case .purge: 1
        case .operate: 2
        }
    }
}

/// A client of the control plane.
struct ControlClient: Sendable, Hashable {
    /// The client's name in the log and the history: `uid 1000` on the socket, the token's name
    /// over TCP. Token names contain no spaces, so no token's name looks like a user.
    var name: String
    var scope: ControlScope
}
