public import HTTPTypes

/// Additions that a client makes to every request.
public struct RequestDefaults: Sendable, Hashable {
    /// Default fields. An endpoint's own fields of the same name replace them.
    public var fields: HTTPFields
    /// Default parameters for the query, such as an API key. An endpoint's own parameters of the
    /// same name replace them. They are part of the cache key.
    public var parameters: Parameters
    /// The principal of the requests. A named principal keeps its stored responses when its tokens
    /// rotate. Without a name, stored responses to requests with credentials belong to those exact
    /// credentials.
    public var principal: String?

    /// The secrets in ``fields``, in ``parameters`` and in the endpoints' fields and parameters.
    public var secrets: Secrets

    /// Creates defaults. All are empty by default.
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
