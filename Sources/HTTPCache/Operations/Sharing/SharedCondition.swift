/// The state of what this cache shares with other nodes.
public struct SharedCondition: Sendable, Hashable {
    /// Whether purges of other nodes are read now, and its own are written.
    public var isFollowing: Bool
    /// The state in words.
    public var detail: String

    /// A state.
    public init(isFollowing: Bool, detail: String) {
        self.isFollowing = isFollowing
        self.detail = detail
    }
}
