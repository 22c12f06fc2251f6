package import HTTPCache

extension InvalidationSharing {
    /// The settings of a node.
    package struct Settings: Sendable {
        package var namespace: FleetNamespace
        package var node: NodeName
        /// The program's version, shown to other nodes.
        package var version: String
        /// The time limit for one call to the server. 50 ms by default.
        package var timeout: Duration
        /// The number of replicas that must confirm a write. 0 by default: only the primary
        /// confirms.
        package var quorum: Int
        /// The behavior of this node while it has no contact with the log.
        package var cutOff = CutOff.serve
        /// The part of the log that is kept. 25 h and 1,000,000 entries by default.
        package var retention: (time: Duration, entries: Int)
        /// The time for which a confirmed contact counts. If the log is lost within that time, this
        /// node has seen every entry. 5 s by default.
        package var lease = Duration.seconds(5)
        /// The lease that each confirmed contact extends by ``lease``. It also learns when this
        /// node has read the log for the first time, or has given up. `nil` if no lease is needed.
        package var contact: ContactLease?
        /// The maximum time that a starting node waits for a log that does not reply: the time for
        /// ten calls, but at least one second.
        package var startLimit: Duration { max(timeout * 10, .seconds(1)) }
        /// The time limit for a page of the log while this node catches up: longer than for other
        /// calls, because nothing waits for it, and the page may have ``LogBatch/mostEntries``
        /// entries.
        package var catchUpLimit: Duration { max(timeout * 10, .seconds(1)) }
        /// The time that the journal keeps confirmed entries, in seconds. 600 by default.
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
