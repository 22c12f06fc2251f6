public import HoldfastConfiguration

/// What a gateway is told: at its start and, but for where it listens, while it runs. Everything
/// but the routes has a default.
public struct GatewayConfiguration: Sendable {
    /// Where requests go; to no other origin than these, whatever they say.
    ///
    /// The transport is told the same: see ``OriginTransport/Configuration/routes``.
    public var routes: GatewayRoutes
    /// The address to listen on: a name or an IP address.
    public var host: String
    /// The port to listen on; 0 for any that is free.
    public var port: Int
    /// How this gateway calls itself in `Via`, a token; in requests with its instance behind it, so
    /// that one that comes back is refused. RFC 9110 §7.6.3
    public var pseudonym = "holdfast"
    /// Connections of clients at one time; one more is answered 503 and closed. 10,000
    public var maximumConnections = 10_000
    /// The same for each client's IP address, trusted ones excepted. `nil`, the default, counts
    /// them together only: behind a proxy or a container's network all may have one address
    public var maximumConnectionsPerClient: Int?
    /// See ``MessageLimits``; for requests.
    public var messageLimits = MessageLimits()
    /// Bytes of content that are read into memory, to be part of the key: a QUERY's, and a POST's
    /// where a rule says so. Longer content passes through. 1 MiB
    public var keyedContentLimit = 1 << 20
    /// Bytes of a request's content that are forwarded; of more, 413. 1 GiB
    public var contentLimit: Int64 = 1 << 30
    /// Bytes of content that a client has to send in a second, over any ``Timeouts/slowContent``;
    /// slower, 408. `nil`: any rate. 1 KiB
    public var uploadRate: Int64? = 1 << 10
    /// Bytes of content that nobody wants (a GET's, or behind an early answer) that are read so
    /// that the connection stays. 1 MiB
    public var discardedContentLimit = 1 << 20
    /// Proxies in front of this gateway, by their addresses: to what they say of their clients
    /// (`Forwarded`, `X-Forwarded-For`, `X-Forwarded-Proto`) this gateway adds its own word; of all
    /// others it takes the place.
    public var trustedClients: [AddressRange] = []
    /// What becomes of fields whose names hold a `_`. Dropped
    public var underscoredFields = UnderscoredFields.drop
    /// Clients that are not trusted learn from `Cache-Status` whether the answer was stored, and no
    /// more. RFC 9211 §4
    public var hidesCacheStatusDetails = false
    /// See ``Timeouts``.
    public var timeouts = Timeouts()

    /// What becomes of request fields whose names hold a `_`.
    ///
    /// CGI, WSGI, Rack and PHP read `X_Forwarded_Host` as `X-Forwarded-Host`, so that a client
    /// could say in one what it may not say in the other.
    public enum UnderscoredFields: String, Sendable, Hashable, CaseIterable {
        /// They are dropped, whoever sends them.
        case drop
        /// They pass. A request that has one goes past the store: nothing of it is stored, and
        /// nothing stored answers it.
        case pass
    }

    /// How long a client may take.
    public struct Timeouts: Sendable, Hashable {
        /// To begin a request: the first, or one more on a connection that is kept. 60 s
        public var request = Duration.seconds(60)
        /// To send a request's head whole, from its first byte. 30 s
        public var head = Duration.seconds(30)
        /// To send the next bytes of a request's content. 60 s
        public var content = Duration.seconds(60)
        /// To make up for content that comes more slowly than ``GatewayConfiguration/uploadRate``,
        /// a standstill included. 20 s
        public var slowContent = Duration.seconds(20)
        /// To take the next bytes of a response. 60 s
        public var write = Duration.seconds(60)
        /// To close its side after an answer that ended the connection. 2 s
        public var closing = Duration.seconds(2)
        /// For exchanges under way when the gateway stops; then their connections are closed. 10 s
        public var draining = Duration.seconds(10)

        /// The defaults.
        public init() {}
    }

    /// A configuration with the defaults.
    ///
    /// - Parameters:
    ///   - host: the address to listen on.
    ///   - port: 0 for any that is free.
    public init(routes: GatewayRoutes, host: String = "127.0.0.1", port: Int = 8080) {
        self.routes = routes
        self.host = host
        self.port = port
    }

    /// A configuration with the defaults, for one origin.
    public init(origin: GatewayOrigin, host: String = "127.0.0.1", port: Int = 8080) {
        self.init(routes: GatewayRoutes(origin: origin), host: host, port: port)
    }
}

extension GatewayConfiguration {
    /// Whether what a client says of others counts.
    func isTrusted(_ client: String?) -> Bool {
        guard !trustedClients.isEmpty, let client else { return false }
        return trustedClients.contains { $0.contains(client) }
    }
}
