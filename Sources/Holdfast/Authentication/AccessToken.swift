public import HTTPCacheSemantics

/// A token that authenticates a request. Its value appears in no description, log or mirror.
public struct AccessToken: Sendable, Hashable {
    /// The value as it is sent.
    public var value: String
    /// When the origin stops accepting it; `nil` if unknown. It is replaced some time before.
    public var expiresAt: Timestamp?

    /// Creates a token.
    public init(_ value: String, expiresAt: Timestamp? = nil) {
        self.value = value
        self.expiresAt = expiresAt
    }
}

extension AccessToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without the value.
    public var description: String { "AccessToken(\(Redaction.placeholder))" }
    /// Without the value.
    public var debugDescription: String { description }
    /// Without the value.
    public var customMirror: Mirror { Mirror(self, children: ["expiresAt": expiresAt as Any]) }
}
