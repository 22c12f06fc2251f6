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
        /// The requests that wait for a place.
        public var waiting: Int
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
                waiting: condition.waiting
            )
        }
        more = conditions.count > Self.limit
    }
}
