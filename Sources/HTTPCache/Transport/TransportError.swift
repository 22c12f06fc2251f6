/// The reason why no response came.
public struct TransportError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure, for programs.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name, as it appears in logs.
        public let description: String
        /// Whether the origin could not be reached. Then any stored response may answer
        /// (docs/architecture.md, "The offline contract").
        public let isUnreachable: Bool
        /// The name does not resolve.
        public static let nameResolution = Code(description: "nameResolution", isUnreachable: true)
        /// No connection: refused, no route, reset while connecting.
        public static let connect = Code(description: "connect", isUnreachable: true)
        /// No connection came about in time.
        public static let connectTimeout = Code(description: "connectTimeout", isUnreachable: true)
        /// The connection was made, but no response came in time.
        public static let timeout = Code(description: "timeout", isUnreachable: true)
        /// The origin closed the connection before or during its response.
        public static let connectionClosed = Code(description: "connectionClosed", isUnreachable: true)
        /// The TLS handshake failed. A certificate that does not verify is a response of sorts; it
        /// is treated as unreachable because the origin's content cannot be had.
        public static let tls = Code(description: "tls", isUnreachable: true)
        /// This process, or the machine, has no file descriptor left for a connection. The origin
        /// is not to blame.
        public static let outOfDescriptors = Code(description: "outOfDescriptors", isUnreachable: false)
        /// Every connection to the origin was in use, and none became free in time. Nothing was
        /// sent. The origin is not to blame.
        public static let overloaded = Code(description: "overloaded", isUnreachable: false)
        /// The origin's response is not valid HTTP.
        public static let protocolViolation = Code(description: "protocolViolation", isUnreachable: false)
        /// The caller gave up.
        public static let cancelled = Code(description: "cancelled", isUnreachable: false)
        /// The request cannot be sent as it stands.
        public static let invalidRequest = Code(description: "invalidRequest", isUnreachable: false)
        /// Anything else.
        public static let other = Code(description: "other", isUnreachable: false)
    }
    /// See ``Code``.
    public var code: Code
    /// The failure, the origin and the next step. It holds no query values and no credentials.
    public var message: String
    /// The client's own error.
    public var cause: (any Error)?
    /// Whether servers of the origin were not asked, because the request is not for them. Then the
    /// failure does not show whether the origin can be reached.
    package var leavesServersUnasked = false
    /// A failure of a transport.
    public init(code: Code, message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
    /// The message.
    public var description: String { message }
}
