/// The fleet as one of its nodes sees it.
package struct FleetState: Sendable, Hashable, Codable {
    /// A node of the fleet.
    package struct Node: Sendable, Hashable, Codable {
        /// The node's name.
        package var name: String
        /// The program's version.
        package var version: String
        /// The seconds since the node's last report, on the clock of the log's server.
        package var seenSeconds: Int64
        /// The number of log entries that the node has not applied; `nil` if it is in another
        /// epoch.
        package var behind: Int64?
        /// The number of the node's purges that the log does not have yet.
        package var waiting: Int64
        /// The number of log entries that the node cannot decrypt because it has another secret;
        /// `nil` if there are none.
        package var unopened: Int64?
        /// The identity of the node's store and process, which distinguishes the node from others
        /// with its name.
        package var identity: String?

        /// Creates a node.
        package init(
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
    package var node: String
    /// The state: `following`, `connecting`, `catching up`, `cut off` or `off`.
    package var state: String
    /// The position up to which this node has read the log; `nil` if it never has.
    package var position: String?
    /// The number of log entries that this node must still read to follow the log; `nil` if it does
    /// not know of any.
    package var behind: Int64?
    /// The seconds since the log's server last replied; `nil` if it never did.
    package var contactSeconds: Double?
    /// The number of this node's purges that the log does not have yet.
    package var waiting: Int
    /// The reason that the server is unusable now.
    package var problem: String?
    /// The number of epochs that began since this node started. Each means that another server took
    /// over the log, or that a server lost it.
    package var epochs: Int?
    /// The number of times since startup that this node may have missed purges and therefore marked
    /// everything.
    package var gaps: Int?
    /// The number of log entries that this node cannot decrypt; `nil` if there are none.
    package var unopened: Int64?
    /// The identities of running nodes with this node's name; `nil` if there are none.
    package var namesakes: [String]?
    /// The other nodes, sorted by name, at most ``limit``; `nil` if the server did not list them.
    package var nodes: [Node]?

    /// The maximum number of nodes in the list.
    package static let limit = 100

    /// Creates a node's view of the fleet.
    package init(
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
