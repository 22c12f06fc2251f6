public import HTTPCacheSemantics

/// The condition of one origin, as the engine knows it.
public struct OriginCondition: Sendable, Hashable {
    /// Whether requests reach it.
    public enum Reachability: String, Sendable, Hashable, Codable, CaseIterable {
        /// Requests are sent to it.
        case reachable
        /// It failed so often that it is asked for something else, to find out.
        case confirming
        /// Stored responses are served for it, and probes look for its return.
        case unreachable
    }

    /// A server that has the origin's content.
    public struct Server: Sendable, Hashable {
        /// An address or a URL, as the configuration has it.
        public var name: String
        /// Whether it failed, so that others are asked before it.
        public var isAside: Bool
        /// Its responses, except 502, 503 and 504.
        public var responses: Int
        /// The requests that it failed.
        public var failures: Int

        /// A server of an origin.
        public init(name: String, isAside: Bool, responses: Int, failures: Int) {
            self.name = name
            self.isAside = isAside
            self.responses = responses
            self.failures = failures
        }
    }

    /// `https://a.example`
    public var origin: String
    /// Whether requests reach it.
    public var reachability: Reachability
    /// Since when it is unreachable.
    public var since: Timestamp?
    /// When the next probe is sent, about. `nil` unless it is unreachable.
    public var nextProbe: Timestamp?
    /// The probes that failed since it became unreachable.
    public var failedProbes: Int
    /// Its requests under way.
    public var inFlight: Int
    /// The requests that wait for a permit.
    public var waiting: Int
    /// Its servers in the order in which they are asked, if the configuration says more of the
    /// origin than its URL.
    public var servers: [Server] = []

    /// A reachable origin without requests.
    public init(origin: String) {
        self.origin = origin
        reachability = .reachable
        failedProbes = 0
        inFlight = 0
        waiting = 0
    }
}
