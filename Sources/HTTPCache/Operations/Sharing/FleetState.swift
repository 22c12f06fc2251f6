/// The fleet as one of its nodes sees it.
public struct FleetState: Sendable, Hashable, Codable {
    /// A node of it.
    public struct Node: Sendable, Hashable, Codable {
        /// Its name.
        public var name: String
        /// The program's version.
        public var version: String
        /// The seconds since it last reported, by the clock of the log's server.
        public var seenSeconds: Int64
        /// How many entries of the log it has not applied; `nil` if it is in another epoch.
        public var behind: Int64?
        /// How many of its purges the log has not got.
        public var waiting: Int64
        /// How many entries of the log it cannot open, because it has another secret; `nil` if
        /// none.
        public var unopened: Int64?
        /// Its identity, which tells it from others with its name: that of its store, and of the
        /// process.
        public var identity: String?

        /// A node.
        public init(
            name: String,
            version: String,
            seenSeconds: Int64,
            behind: Int64?,
            waiting: Int64,
            unopened: Int64? = nil,
            identity: String? = nil
        ) {
            (self.unopened, self.identity) = (unopened, identity)
            self.name = name
            self.version = version
            self.seenSeconds = seenSeconds
            self.behind = behind
            self.waiting = waiting
        }
    }

    /// This node's name.
    public var node: String
    /// `following`, `connecting`, `resyncing`, `cut off` or `off`.
    public var state: String
    /// Up to where this node has read the log; `nil` if it never did.
    public var position: String?
    /// The seconds since the log's server last answered; `nil` if it never did.
    public var contactSeconds: Double?
    /// How many of its own purges the log has not got.
    public var waiting: Int
    /// Why the server cannot be used now.
    public var problem: String?
    /// How many epochs of the log have begun since this node's start: each is another server, or
    /// one that lost the log.
    public var epochs: Int?
    /// How often since its start this node may have missed purges, so that it marked everything.
    public var gaps: Int?
    /// How many entries of the log this node cannot open; `nil` if none.
    public var unopened: Int64?
    /// The identities of living nodes with this one's name; `nil` if there are none.
    public var namesakes: [String]?
    /// The other nodes, in the order of their names, at most ``limit``; `nil` if the server did not
    /// say.
    public var nodes: [Node]?

    /// The most nodes that are named.
    public static let limit = 100

    /// A node's view.
    public init(
        node: String,
        state: String,
        position: String? = nil,
        contactSeconds: Double? = nil,
        waiting: Int = 0,
        problem: String? = nil,
        epochs: Int? = nil,
        gaps: Int? = nil,
        nodes: [Node]? = nil
    ) {
        self.node = node
        self.state = state
        self.position = position
        self.contactSeconds = contactSeconds
        self.waiting = waiting
        self.problem = problem
        self.epochs = epochs
        self.gaps = gaps
        self.nodes = nodes
    }
}
