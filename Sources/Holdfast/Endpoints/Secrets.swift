public import HTTPTypes

/// The secrets of a request: an API key in the query, a token in a field.
///
/// Secrets are sent. Their values do not occur in logs, errors or the store. Like credentials, they
/// separate stored responses: a request sees only those with the same secrets. Fields such as
/// `Authorization`, `Cookie` and `X-Api-Key` are secrets without being named here.
public struct Secrets: Sendable, Hashable {
    /// Names of parameters in the query, case-sensitive.
    public var parameters: Set<String>
    /// Names of fields.
    public var fields: Set<HTTPField.Name>

    /// Creates a set of secrets. Empty by default.
    public init(parameters: Set<String> = [], fields: Set<HTTPField.Name> = []) {
        self.parameters = parameters
        self.fields = fields
    }

    /// Returns the secrets of both.
    public func union(_ other: Secrets) -> Secrets {
        if other.isEmpty { return self }
        return isEmpty
            ? other : Secrets(parameters: parameters.union(other.parameters), fields: fields.union(other.fields))
    }

    /// Whether there are none.
    public var isEmpty: Bool { parameters.isEmpty && fields.isEmpty }
}
