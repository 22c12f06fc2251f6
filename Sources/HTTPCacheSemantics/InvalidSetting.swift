/// The error for an operator's setting that cannot be used: an address, a socket, a route, a token
/// or an environment variable.
public struct InvalidSetting: Error, Sendable, Hashable, CustomStringConvertible {
    /// The setting, the fault and the next step, in sentences without secrets.
    public let description: String

    /// Creates an error with sentences for the operator.
    package init(_ description: String) { self.description = description }
}
