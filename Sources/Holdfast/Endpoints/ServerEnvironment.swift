/// The addresses of a group of servers, such as production, staging or a developer's machine.
///
/// ```swift
/// extension ServerEnvironment {
///     static let staging = ServerEnvironment("staging", baseURL: "https://staging.example.com/v1")
/// }
/// ```
///
/// A client has at most one environment (``CachingClient/Configuration/environment``). Endpoints
/// without their own base URL use it.
public struct ServerEnvironment: Sendable, Hashable {
    /// The environment's name, for logs and comparisons.
    public var name: String
    /// An absolute `http` or `https` URL. If it has a path, the path precedes an endpoint's path.
    public var baseURL: String
    /// The base URLs of additional services by name, such as `images`, for endpoints that choose
    /// one in ``Endpoint/baseURL(in:)``.
    public var services: [String: String]

    /// Creates an environment.
    public init(_ name: String, baseURL: String, services: [String: String] = [:]) {
        self.name = name
        self.baseURL = baseURL
        self.services = services
    }
}
