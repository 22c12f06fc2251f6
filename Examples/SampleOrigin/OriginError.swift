/// Why an origin could not start.
public struct OriginError: Error, CustomStringConvertible {
    /// The kinds of failure.
    public struct Code: Hashable, Sendable {
        private let name: String

        private init(_ name: String) {
            self.name = name
        }

        /// A value of the configuration is out of range.
        public static let configuration = Code("configuration")
        /// The address could not be bound: it is in use, not allowed, or not one of this machine.
        public static let bind = Code("bind")
        /// The server ended, or was stopped, before it listened.
        public static let ended = Code("ended")
    }

    /// The kind of failure.
    public let code: Code
    /// The failure and its remedy.
    public let message: String
    /// The error beneath, if there is one.
    public let cause: (any Error)?

    init(code: Code, message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The message.
    public var description: String { message }
}
