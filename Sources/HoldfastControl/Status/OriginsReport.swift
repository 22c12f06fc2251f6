public import HTTPCache

/// A gateway's origins, as clients of the control plane receive them. Instants are RFC 3339 text.
public struct OriginsReport: Sendable, Hashable, Codable {
    /// One origin.
    public struct Origin: Sendable, Hashable, Codable {
        /// `https://a.example`
        public var origin: String
        /// `reachable`, `confirming` or `unreachable`.
        public var state: OriginCondition.Reachability
        /// Since when it has been unreachable.
        public var since: String?
        /// The approximate time of the next probe. Only the mode `automatic` sends probes.
        public var nextProbe: String?
        /// The failed probes since it became unreachable.
        public var failedProbes: Int
        /// The requests in progress.
        public var inFlight: Int
        /// The requests waiting for a permit.
        public var waiting: Int
        /// Its servers in the order in which they are tried; `nil` if the configuration only has
        /// its URL.
        public var servers: [Server]?
    }

    /// A server with an origin's content: one of its addresses, or a mirror.
    public struct Server: Sendable, Hashable, Codable {
        /// An address or a URL, as configured.
        public var server: String
        /// Whether it failed, so others are tried first.
        public var aside: Bool
        /// Its responses, not counting 502, 503 and 504.
        public var responses: Int
        /// The requests that failed there.
        public var failures: Int
    }

    /// The origins: unreachable ones first, then in alphabetical order.
    public var origins: [Origin]
    /// Whether there are more than ``limit``.
    public var more: Bool

    /// The most origins in a report.
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
