package import HTTPCache

extension InvalidationSharing {
    /// The settings of a node.
    package struct Settings: Sendable {
        package var namespace: FleetNamespace
        package var node: NodeName
        /// The program's version, shown to other nodes.
        package var version: String
        /// The time limit for one engine call. 50 ms by default.
        package var timeout: Duration
        /// The number of replicas that must confirm a write. 0 by default: only the engine itself
        /// confirms.
        package var quorum: Int
        /// Whether a node that has lost contact with the log keeps serving stored responses.
        package var cutOff = CutOff.serve
        /// The part of the log that is retained. 25 h and 1,000,000 entries by default.
        package var retention: (time: Duration, entries: Int)
        /// The time for which a confirmed contact counts. If the log is lost within that time, this
        /// node has seen every entry. 5 s by default.
        package var lease = Duration.seconds(5)
        /// The lease that each confirmed contact extends by ``lease``. It is also notified when the
        /// log has been read for the first time. `nil` if no lease is needed.
        package var contact: ContactLease?
        /// The time that a starting node waits for a log that does not reply: ten calls, but at
        /// least one second.
        package var startLimit: Duration { max(timeout * 10, .seconds(1)) }
        /// The time for which the journal keeps confirmed entries, in seconds. 600 by default.
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
