public import HTTPTypes

/// What of a request is a secret: an API key in the query, a token in a field.
///
/// Secrets are sent. In logs, errors and the store their values do not occur; like credentials they
/// tell whose stored responses a request may see. Fields such as `Authorization`, `Cookie` and
/// `X-Api-Key` are secrets without being named here.
public struct Secrets: Sendable, Hashable {
    /// Names of parameters in the query. Case counts.
    public var parameters: Set<String>
    /// Names of fields.
    public var fields: Set<HTTPField.Name>

    /// None unless told otherwise.
    public init(parameters: Set<String> = [], fields: Set<HTTPField.Name> = []) {
        self.parameters = parameters
        self.fields = fields
    }

    /// Those of both.
    public func union(_ other: Secrets) -> Secrets {
        if other.isEmpty { return self }
        return isEmpty
            ? other : Secrets(parameters: parameters.union(other.parameters), fields: fields.union(other.fields))
    }

    /// Whether there are none.
    public var isEmpty: Bool { parameters.isEmpty && fields.isEmpty }
}
