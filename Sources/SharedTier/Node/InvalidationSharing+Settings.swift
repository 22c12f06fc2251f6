package import HTTPCache

extension InvalidationSharing {
    /// The settings of a node.
    package struct Settings: Sendable {
        package var namespace: FleetNamespace
        package var node: NodeName
        /// The program's version, for other nodes to see.
        package var version: String
        /// For one call of the engine. 50 ms by default
        package var timeout: Duration
        /// How many replicas have to confirm what was written. 0 by default: the engine alone
        package var quorum: Int
        /// Whether a node that lost sight of the log keeps serving what it has.
        package var cutOff = CutOff.serve
        /// How much of the log stays. 25 h and 1,000,000 entries by default
        package var retention: (time: Duration, entries: Int)
        /// How long a confirmed contact counts: of a log that is lost within that time, this node
        /// has heard everything. 5 s by default
        package var lease = Duration.seconds(5)
        /// Is extended by ``lease`` with each confirmed contact, and told when the log was read for
        /// the first time; `nil` if none wants to know.
        package var trust: TrustLease?
        /// How long a node that starts waits for a log that does not answer: ten calls, and at
        /// least a second.
        package var startLimit: Duration { max(timeout * 10, .seconds(1)) }
        /// How long the journal keeps what the log has confirmed, in seconds. 600 by default
        package var settledTime: Int64 = 600

        package init(
            namespace: FleetNamespace,
            node: NodeName,
            version: String = "",
            timeout: Duration = .milliseconds(50),
            quorum: Int = 0,
            retention: (time: Duration, entries: Int) = (.seconds(25 * 3600), 1_000_000)
        ) {
            self.namespace = namespace
            self.node = node
            self.version = version
            self.timeout = timeout
            self.quorum = quorum
            self.retention = retention
        }
    }
}
