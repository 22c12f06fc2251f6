extension HTTPClientTransport {
    /// An HTTP proxy for all connections, which go through tunnels (CONNECT, RFC 9110 §9.3.6).
    ///
    /// The proxy resolves the names of origins. It sees each origin's host and port and, for `http`
    /// origins, everything that is sent. It must allow tunnels to the ports of all origins,
    /// including `http` origins.
    public struct Proxy: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        /// The proxy's name or address.
        public var host: String
        /// The proxy's port.
        public var port: UInt16
        /// The credentials for the proxy; `nil` if it requires none.
        public var credentials: Credentials?

        /// Creates a proxy, by default without credentials.
        public init(host: String, port: UInt16, credentials: Credentials? = nil) {
            self.host = host
            self.port = port
            self.credentials = credentials
        }

        /// The host and port, without credentials.
        public var description: String { "\(host):\(port)" }

        /// The host and port, without credentials.
        public var customMirror: Mirror { Mirror(self, children: ["host": host, "port": port]) }

        /// A user and a password (Basic, RFC 7617). Only the proxy receives them.
        public struct Credentials: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
            /// The user name. It must not contain a colon.
            public var user: String
            /// The password.
            public var password: String

            /// Creates credentials for a proxy.
            public init(user: String, password: String) {
                self.user = user
                self.password = password
            }

            /// Always `[redacted]`.
            public var description: String { "[redacted]" }

            /// An empty mirror.
            public var customMirror: Mirror { Mirror(self, children: [:]) }
        }
    }
}
