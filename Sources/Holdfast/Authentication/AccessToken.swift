public import HTTPCacheSemantics

/// What a request is authenticated by. Its value appears in no description, log or mirror.
public struct AccessToken: Sendable, Hashable {
    /// As it is sent.
    public var value: String
    /// When it is no longer taken; `nil` where that is not known. It is replaced some time before.
    public var expiresAt: Timestamp?

    /// A token.
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
