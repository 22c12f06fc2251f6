public import HTTPTypes
public import HoldfastContent

/// Additions that a client makes to every request.
public struct RequestDefaults: Sendable, Hashable {
    /// Default fields. An endpoint's own fields of the same name replace them.
    public var fields: HTTPFields
    /// Default parameters for the query, such as an API key. An endpoint's own parameters of the
    /// same name replace them, also if its URL has them. They are part of the cache key.
    public var parameters: RequestParameters
    /// The principal of the requests. If it is set, stored responses stay available when the
    /// principal's tokens rotate. If it is `nil`, a stored response to a request with credentials
    /// belongs to those exact credentials.
    public var principal: String?

    /// The secrets in ``fields``, in ``parameters`` and in the endpoints' fields and parameters.
    public var secrets: Secrets

    /// Creates defaults. All are empty by default.
    public init(
        fields: HTTPFields = [:],
        parameters: RequestParameters = [:],
        principal: String? = nil,
        secrets: Secrets = Secrets()
    ) {
        self.fields = fields
        self.parameters = parameters
        self.principal = principal
        self.secrets = secrets
    }
}
