extension HTTPClientTransport {
    /// The settings for connections, and the limits for each exchange. Each limit has a default,
    /// because an exchange without the limit could hang.
    public struct Configuration: Sendable, Hashable {
        /// The time limit for opening a connection, including TLS. The default is 10 seconds.
        public var connectTimeout: Duration
        /// How long the origin may send nothing: before the response head, or between two parts of
        /// the body. It also limits how long the request's content may stall while it is sent. The
        /// default is 30 seconds.
        public var idleTimeout: Duration
        /// The maximum number of concurrent HTTP/1.1 connections to one origin; less than 1 is
        /// treated as 1. Over HTTP/2, requests share one connection.
        ///
        /// The default, `nil`, allows a connection for each request in flight, so that no request
        /// waits for a connection. The engine limits these requests (`inFlightLimit`, 256 for each
        /// origin). Responses that are read but not stored, such as downloads and streams, have a
        /// separate limit.
        ///
        /// If this is set, additional requests wait for a free connection, for at most
        /// ``connectTimeout``. After that time, they fail as `overloaded`: nothing was sent, and
        /// the origin is not considered unreachable. Retries after a connection closed have a
        /// separate limit of the same size.
        public var connectionsPerOrigin: Int?
        /// How long an idle connection is kept. The default is 20 seconds.
        ///
        /// After a burst, there are as many idle connections as there were requests in flight. Each
        /// uses a descriptor here and one at the origin.
        public var keptTime: Duration
        /// The certificates for `https` origins. If this is `nil`, the default, the system's
        /// certificates are trusted, and no client certificate is presented.
        public var tls: TLS?
        /// The proxy for all connections. If this is `nil`, the default, connections go directly to
        /// the origins. Environment variables such as `https_proxy` are ignored.
        public var proxy: Proxy?

        /// Creates a configuration; see the properties for the defaults.
        public init(
            connectTimeout: Duration = .seconds(10),
            idleTimeout: Duration = .seconds(30),
            connectionsPerOrigin: Int? = nil,
            keptTime: Duration = .seconds(20),
            tls: TLS? = nil,
            proxy: Proxy? = nil
        ) {
            self.connectTimeout = connectTimeout
            self.idleTimeout = idleTimeout
            self.connectionsPerOrigin = connectionsPerOrigin
            self.keptTime = keptTime
            self.tls = tls
            self.proxy = proxy
        }
    }
}
