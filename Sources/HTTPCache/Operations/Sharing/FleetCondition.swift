/// The state of sharing with other nodes.
public struct FleetCondition: Sendable, Hashable {
    /// Whether this node currently reads the purges of other nodes and publishes its own.
    public var isFollowing: Bool
    /// The state in words.
    public var detail: String
    /// Whether this node is still reading purges from before its start. Until then, it validates
    /// all stored responses.
    public var isStarting: Bool

    /// Creates a state.
    public init(isFollowing: Bool, detail: String, isStarting: Bool = false) {
        self.isStarting = isStarting
        self.isFollowing = isFollowing
        self.detail = detail
    }
}
