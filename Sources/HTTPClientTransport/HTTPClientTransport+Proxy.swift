extension HTTPClientTransport {
    /// An HTTP proxy that all connections go through, as tunnels (CONNECT, RFC 9110 §9.3.6).
    ///
    /// The proxy resolves the names of origins. It sees the host and port of each origin, and for
    /// `http` origins everything that is sent. It must permit tunnels to the ports of all origins,
    /// those of `http` included.
    public struct Proxy: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        /// The proxy's name or address.
        public var host: String
        /// The proxy's port.
        public var port: UInt16
        /// The credentials that the proxy gets; `nil` if it requires none.
        public var credentials: Credentials?

        /// A proxy, by default without credentials.
        public init(host: String, port: UInt16, credentials: Credentials? = nil) {
            self.host = host
            self.port = port
            self.credentials = credentials
        }

        /// Host and port.
        public var description: String { "\(host):\(port)" }

        /// Host and port.
        public var customMirror: Mirror { Mirror(self, children: ["host": host, "port": port]) }

        /// A user and a password (Basic, RFC 7617). Only the proxy gets them.
        public struct Credentials: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
            /// The user. It contains no colon.
            public var user: String
            /// The password.
            public var password: String

            /// Credentials for a proxy.
            public init(user: String, password: String) {
                self.user = user
                self.password = password
            }

            /// `[redacted]`
            public var description: String { "[redacted]" }

            /// Nothing of the credentials.
            public var customMirror: Mirror { Mirror(self, children: [:]) }
        }
    }
}
