public import HTTPTypes

/// What a client adds to every request.
public struct RequestDefaults: Sendable, Hashable {
    /// Fields; an endpoint's own of the same name take their place.
    public var fields: HTTPFields
    /// Parameters for the query (an API key, say); an endpoint's own of the same name take their
    /// place. They are part of the cache key.
    public var parameters: Parameters
    /// Whose requests these are. A named principal keeps its stored responses when its tokens
    /// rotate; without a name, stored responses to requests with credentials belong to these very
    /// credentials.
    public var principal: String?

    /// What of ``fields``, ``parameters`` and the endpoints' own is a secret.
    public var secrets: Secrets

    /// Nothing unless told otherwise.
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
