public import HTTPTypes

/// The secrets of a request, such as an API key in the query or a token in a field.
///
/// Secrets are sent, but their values do not appear in logs, errors or the store. Like credentials,
/// they separate stored responses: a request sees only the stored responses with the same secrets.
/// Fields such as `Authorization`, `Cookie` and `X-Api-Key` are always secrets.
public struct Secrets: Sendable, Hashable {
    /// The names of query parameters, case-sensitive.
    public var parameters: Set<String>
    /// The names of fields.
    public var fields: Set<HTTPField.Name>

    /// Creates a set of secrets. Empty by default.
    public init(parameters: Set<String> = [], fields: Set<HTTPField.Name> = []) {
        self.parameters = parameters
        self.fields = fields
    }

    /// Returns the secrets of both sets.
    public func union(_ other: Secrets) -> Secrets {
        if other.isEmpty { return self }
        return isEmpty
            ? other : Secrets(parameters: parameters.union(other.parameters), fields: fields.union(other.fields))
    }

    /// Whether the set is empty.
    public var isEmpty: Bool { parameters.isEmpty && fields.isEmpty }
}
