/// The fleet as one of its nodes sees it.
public struct FleetState: Sendable, Hashable, Codable {
    /// A node of the fleet.
    public struct Node: Sendable, Hashable, Codable {
        /// The node's name.
        public var name: String
        /// The program's version.
        public var version: String
        /// The seconds since the node's last report, on the clock of the log's server.
        public var seenSeconds: Int64
        /// The number of log entries that the node has not applied; `nil` if it is in another
        /// epoch.
        public var behind: Int64?
        /// The number of the node's purges that the log does not have yet.
        public var waiting: Int64
        /// The number of log entries that the node cannot decrypt because it has another secret;
        /// `nil` if there are none.
        public var unopened: Int64?
        /// The identity of the node's store and process, which distinguishes the node from others
        /// with its name.
        public var identity: String?

        /// Creates a node.
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
    /// The state: `following`, `connecting`, `resyncing`, `cut off` or `off`.
    public var state: String
    /// The position up to which this node has read the log; `nil` if it never has.
    public var position: String?
    /// The seconds since the log's server last replied; `nil` if it never did.
    public var contactSeconds: Double?
    /// The number of this node's purges that the log does not have yet.
    public var waiting: Int
    /// The reason that the server is unusable now.
    public var problem: String?
    /// The number of epochs that began since this node started. Each means that another server took
    /// over the log, or that a server lost it.
    public var epochs: Int?
    /// The number of times since startup that this node may have missed purges and therefore marked
    /// everything.
    public var gaps: Int?
    /// The number of log entries that this node cannot decrypt; `nil` if there are none.
    public var unopened: Int64?
    /// The identities of running nodes with this node's name; `nil` if there are none.
    public var namesakes: [String]?
    /// The other nodes, sorted by name, at most ``limit``; `nil` if the server did not list them.
    public var nodes: [Node]?

    /// The maximum number of nodes in the list.
    public static let limit = 100

    /// Creates a node's view of the fleet.
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
