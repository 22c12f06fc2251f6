/// The state of what this cache shares with other nodes.
public struct FleetCondition: Sendable, Hashable {
    /// Whether purges of other nodes are read now, and its own are written.
    public var isFollowing: Bool
    /// The state in words.
    public var detail: String
    /// Whether this node still reads the purges of the time before its start. It validates what it
    /// has meanwhile.
    public var isStarting: Bool

    /// A state.
    public init(isFollowing: Bool, detail: String, isStarting: Bool = false) {
        self.isStarting = isStarting
        self.isFollowing = isFollowing
        self.detail = detail
    }
}
