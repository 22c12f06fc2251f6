public import HTTPCacheSemantics

/// A token that authenticates a request. Its value does not appear in descriptions, logs or
/// mirrors.
public struct AccessToken: Sendable, Hashable {
    /// The text that requests carry.
    public var value: String
    /// When the origin stops accepting the token; `nil` if unknown. The token is not sent after
    /// that time. A request shortly before that time starts its replacement: see
    /// ``TokenAuthenticator/Configuration/leeway``.
    public var expiresAt: Timestamp?

    /// Creates a token.
    public init(_ value: String, expiresAt: Timestamp? = nil) {
        self.value = value
        self.expiresAt = expiresAt
    }
}

extension AccessToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A description without the value.
    public var description: String { "AccessToken(\(Redaction.placeholder))" }
    /// A description without the value.
    public var debugDescription: String { description }
    /// A mirror without the value.
    public var customMirror: Mirror { Mirror(self, children: ["expiresAt": expiresAt as Any]) }
}
