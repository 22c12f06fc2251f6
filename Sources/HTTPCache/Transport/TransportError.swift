/// The error that a transport throws if no response arrived, or if its body was cut short.
public struct TransportError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure, for programs.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name, as it appears in logs.
        public let description: String
        /// Whether the origin could not be reached. If so, a stored response may be served, even a
        /// stale one, unless something forbids that (docs/architecture.md, "The offline contract").
        public let isUnreachable: Bool
        /// The host name does not resolve.
        public static let nameResolution = Code(description: "nameResolution", isUnreachable: true)
        /// The connection failed: it was refused, had no route, or was reset while connecting.
        public static let connect = Code(description: "connect", isUnreachable: true)
        /// The connection was not established in time.
        public static let connectTimeout = Code(description: "connectTimeout", isUnreachable: true)
        /// The connection was established, but the response, or the next part of its body, did not
        /// arrive in time.
        public static let timeout = Code(description: "timeout", isUnreachable: true)
        /// The origin closed the connection before or during its response.
        public static let connectionClosed = Code(description: "connectionClosed", isUnreachable: true)
        /// The TLS handshake failed. This includes a certificate that cannot be verified: it counts
        /// as unreachable, because the origin's content is unavailable.
        public static let tls = Code(description: "tls", isUnreachable: true)
        /// The process or the machine has no file descriptors left for a connection. The origin is
        /// not the cause.
        public static let outOfDescriptors = Code(description: "outOfDescriptors", isUnreachable: false)
        /// All connections to the origin were in use, and none became free in time. Nothing was
        /// sent. The origin is not the cause.
        public static let overloaded = Code(description: "overloaded", isUnreachable: false)
        /// An operator drained every server of the origin that may get the request. Nothing was
        /// sent. The origin is not the cause.
        package static let drained = Code(description: "drained", isUnreachable: true)
        /// The origin's response is not valid HTTP.
        public static let protocolViolation = Code(description: "protocolViolation", isUnreachable: false)
        /// The caller canceled the request, or its content stalled while it was sent.
        public static let cancelled = Code(description: "cancelled", isUnreachable: false)
        /// The request cannot be sent in its current form.
        public static let invalidRequest = Code(description: "invalidRequest", isUnreachable: false)
        /// Any other failure.
        public static let other = Code(description: "other", isUnreachable: false)

        /// The name in metrics: `connectTimeout` is `connect-timeout`.
        package var label: String {
            var label = ""
            for character in description {
                if character.isUppercase { label += "-" }
                label += character.lowercased()
            }
            return label
        }
    }
    /// The kind of failure.
    public var code: Code
    /// The failure, the origin and the next step. The message contains no query values and no
    /// credentials.
    public var message: String
    /// The underlying client's error.
    public var cause: (any Error)?
    /// Whether some servers of the origin were not tried, because the request may not be sent to
    /// them. If so, the failure does not show whether the origin is reachable.
    package var leavesServersUnasked = false
    /// Why no connection could be used, if the transport knows it.
    package var connectionFailure: ConnectionFailure?
    /// Creates an error.
    public init(code: Code, message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
    /// The name of the failure in logs, reports and metrics, such as `unknown-authority` or
    /// `connection-closed`. There are few of them.
    package var reason: String { connectionFailure?.rawValue ?? code.label }

    /// The message.
    public var description: String { message }
}
