/// The error for an origin that cannot start.
public struct OriginError: Error, CustomStringConvertible {
    /// The kinds of failure.
    public struct Code: Hashable, Sendable {
        private let name: String

        private init(_ name: String) {
            self.name = name
        }

        /// A configuration value is out of range.
        public static let configuration = Code("configuration")
        /// The address could not be bound, because it is in use, not permitted, or not an address
        /// of this machine.
        public static let bind = Code("bind")
        /// The server ended or was stopped before it was listening.
        public static let ended = Code("ended")
    }

    /// The kind of failure.
    public let code: Code
    /// The failure and its remedy.
    public let message: String
    /// The underlying error, if there is one.
    public let cause: (any Error)?

    init(code: Code, message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The message.
    public var description: String { message }
}
