/// The state of sharing with other nodes.
package struct FleetCondition: Sendable, Hashable {
    /// Whether this node currently reads the purges of other nodes and publishes its own.
    package var isFollowing: Bool
    /// The state in words.
    package var detail: String
    /// Whether this node is still reading purges from before its start. Until then, it validates
    /// all stored responses.
    package var isStarting: Bool

    /// Creates a state.
    package init(isFollowing: Bool, detail: String, isStarting: Bool = false) {
        self.isStarting = isStarting
        self.isFollowing = isFollowing
        self.detail = detail
    }
}
