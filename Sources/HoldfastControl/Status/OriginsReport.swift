public import HTTPCache

/// The origins of a gateway, as clients of the control plane get them. Instants are texts by RFC
/// 3339.
public struct OriginsReport: Sendable, Hashable, Codable {
    /// One origin.
    public struct Origin: Sendable, Hashable, Codable {
        /// `https://a.example`
        public var origin: String
        /// `reachable`, `confirming` or `unreachable`.
        public var state: OriginCondition.Reachability
        /// Since when it is unreachable.
        public var since: String?
        /// When the next probe is sent, about. Probes are sent in the mode `automatic` alone.
        public var nextProbe: String?
        /// The probes that failed since it became unreachable.
        public var failedProbes: Int
        /// Its requests under way.
        public var inFlight: Int
        /// The requests that wait for a permit.
        public var waiting: Int
        /// Its servers in the order in which they are asked; `nil` if the configuration has no more
        /// than its URL.
        public var servers: [Server]?
    }

    /// A server that has an origin's content: one of its addresses, or a mirror.
    public struct Server: Sendable, Hashable, Codable {
        /// An address or a URL, as the configuration has it.
        public var server: String
        /// Whether it failed, so that others are asked before it.
        public var aside: Bool
        /// Its responses, except 502, 503 and 504.
        public var responses: Int
        /// The requests that it failed.
        public var failures: Int
    }

    /// The origins: unreachable ones first, then in alphabetical order.
    public var origins: [Origin]
    /// Whether there are more than ``limit``.
    public var more: Bool

    /// The most origins of a report.
    static let limit = 1000

    init(_ conditions: [OriginCondition], _ mode: OfflineMode) {
        let (well, failing) = (
            conditions.filter { $0.reachability == .reachable }, conditions.filter { $0.reachability != .reachable }
        )
        origins = (failing + well).prefix(Self.limit).map { condition in
            Origin(
                origin: condition.origin,
                state: condition.reachability,
                since: condition.since.map(EndTime.text),
                nextProbe: mode == .automatic ? condition.nextProbe.map(EndTime.text) : nil,
                failedProbes: condition.failedProbes,
                inFlight: condition.inFlight,
                waiting: condition.waiting,
                servers: condition.servers.isEmpty ? nil : condition.servers.map(Server.init)
            )
        }
        more = conditions.count > Self.limit
    }
}

extension OriginsReport.Server {
    fileprivate init(_ server: OriginCondition.Server) {
        self.init(
            server: server.name,
            aside: server.isAside,
            responses: server.responses,
            failures: server.failures
        )
    }
}
