/// The extent to which this node's purges have spread in its fleet, and the nodes that are behind.
package struct PurgeReach: Sendable, Hashable, Codable {
    /// A node that has not applied a purge, as far as the log knows.
    package struct WaitingNode: Sendable, Hashable, Codable {
        /// The node's name.
        package var node: String
        /// The seconds since the node's last report.
        package var seenSeconds: Int64
        /// The number of log entries that the node has not applied; `nil` if it is in an earlier
        /// epoch.
        package var behind: Int64?
        /// The number of log entries that the node cannot decrypt because it has another secret;
        /// `nil` if there are none.
        package var unopened: Int64?

        /// Creates a node that is behind.
        package init(node: String, seenSeconds: Int64, behind: Int64?, unopened: Int64? = nil) {
            self.unopened = unopened
            self.node = node
            self.seenSeconds = seenSeconds
            self.behind = behind
        }
    }

    /// The nodes of the fleet.
    package struct Nodes: Sendable, Hashable, Codable {
        /// The number of nodes that have applied the purge.
        package var applied: Int
        /// The number of nodes that have not.
        package var behind: Int
        /// The first nodes that have not, at most ``limit``.
        package var waiting: [WaitingNode]

        /// The maximum number of nodes in the list.
        package static let limit = 100

        /// - Parameter waiting: all nodes that are behind.
        package init(applied: Int, waiting: [WaitingNode]) {
            self.applied = applied
            behind = waiting.count
            self.waiting = Array(waiting.prefix(Self.limit))
        }
    }

    /// The level reached.
    package var level: PurgeLevel
    /// The position up to which the log has all of this node's purges; `nil` while they are
    /// waiting.
    package var position: String?
    /// The number of replicas that confirmed the purges; `nil` if no replicas were asked.
    package var replicas: Int?
    /// The nodes that have applied the purges; `nil` if the nodes were not checked.
    package var nodes: Nodes?
    /// A sentence for people; `nil` if there is nothing to add.
    package var note: String?

    /// Creates a result; by default, for a purge that is waiting.
    package init(
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
