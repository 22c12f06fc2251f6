/// How far this node's purges have come among the nodes of its fleet, and who is behind.
public struct PurgeReach: Sendable, Hashable, Codable {
    /// A node that has not applied a purge, as far as the log knows.
    public struct WaitingNode: Sendable, Hashable, Codable {
        /// Its name.
        public var node: String
        /// The seconds since it last reported.
        public var seenSeconds: Int64
        /// How many entries of the log it has not applied; `nil` if it is in an earlier epoch.
        public var behind: Int64?
        /// How many entries it cannot open, because it has another secret; `nil` if none.
        public var unopened: Int64?

        /// A node that is behind.
        public init(node: String, seenSeconds: Int64, behind: Int64?, unopened: Int64? = nil) {
            self.unopened = unopened
            self.node = node
            self.seenSeconds = seenSeconds
            self.behind = behind
        }
    }

    /// The nodes of the fleet.
    public struct Nodes: Sendable, Hashable, Codable {
        /// How many have applied the purge.
        public var applied: Int
        /// How many have not.
        public var behind: Int
        /// The first of them, at most ``limit``.
        public var waiting: [WaitingNode]

        /// The most nodes that are named.
        public static let limit = 100

        /// - Parameter waiting: all that are behind.
        public init(applied: Int, waiting: [WaitingNode]) {
            self.applied = applied
            behind = waiting.count
            self.waiting = Array(waiting.prefix(Self.limit))
        }
    }

    /// The level that was reached.
    public var level: PurgeLevel
    /// Everything that this node had purged is in the log up to here; `nil` while it waits.
    public var position: String?
    /// The replicas that confirmed it; `nil` if none were asked.
    public var replicas: Int?
    /// The nodes that have it; `nil` if they were not looked at.
    public var nodes: Nodes?
    /// A sentence for people; `nil` if there is nothing to add.
    public var note: String?

    /// A purge that waits, or one that came as far as a level.
    public init(
        level: PurgeLevel,
        position: String? = nil,
        replicas: Int? = nil,
        nodes: Nodes? = nil,
        note: String? = nil
    ) {
        self.level = level
        self.position = position
        self.replicas = replicas
        self.nodes = nodes
        self.note = note
    }
}
