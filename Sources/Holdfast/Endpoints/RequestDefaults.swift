public import HTTPTypes

/// Additions that a client makes to every request.
public struct RequestDefaults: Sendable, Hashable {
    /// Fields. An endpoint's own fields of the same name replace them.
    public var fields: HTTPFields
    /// Parameters for the query, such as an API key. An endpoint's own parameters of the same name
    /// replace them. They are part of the cache key.
    public var parameters: Parameters
    /// The principal of the requests. A named principal keeps its stored responses when its tokens
    /// rotate. Without a name, stored responses to requests with credentials belong to those exact
    /// credentials.
    public var principal: String?

    /// The secrets among ``fields``, ``parameters`` and the endpoints' own.
    public var secrets: Secrets

    /// Creates defaults; empty unless given.
    public init(
        fields: HTTPFields = [:],
        parameters: Parameters = [:],
        principal: String? = nil,
        secrets: Secrets = Secrets()
    ) {
        self.fields = fields
        self.parameters = parameters
        self.principal = principal
        self.secrets = secrets
    }
}
