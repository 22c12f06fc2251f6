extension HTTPClientTransport {
    /// How connections are made, and limits for one exchange. Each limit has a default, because
    /// without one an exchange could hang.
    public struct Configuration: Sendable, Hashable {
        /// The longest wait for a connection, TLS included. The default is 10 seconds.
        public var connectTimeout: Duration
        /// The longest silence of the origin: before its head, and between two parts of its body.
        /// The default is 30 seconds.
        public var idleTimeout: Duration
        /// The most connections to one origin at a time over HTTP/1.1. Over HTTP/2 requests share
        /// one connection.
        ///
        /// The default, `nil`, allows one for each request under way, so that no request waits for
        /// a connection. The engine bounds those (`inFlightLimit`, 256 for one origin). Responses
        /// that are read and not stored, such as downloads and streams, have a limit of their own.
        ///
        /// With a number, further requests wait for a free connection, for ``connectTimeout`` at
        /// most. Then they fail as `overloaded`: nothing was sent, and the origin is not considered
        /// unreachable. Requests that are sent again, because a connection closed, are limited by
        /// themselves.
        public var connectionsPerOrigin: Int?
        /// How long an idle connection is kept. The default is 20 seconds.
        ///
        /// After a burst, as many connections are kept as it had requests under way, each with a
        /// descriptor here and one at the origin.
        public var keptTime: Duration
        /// The certificates for `https` origins. With `nil`, the default, those of the system are
        /// trusted, and none is presented.
        public var tls: TLS?
        /// The proxy that all connections go through; `nil`, the default, connects to the origins.
        /// Environment variables such as `https_proxy` are not read.
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
