/// The addresses of a set of servers: production, staging, a developer's machine.
///
/// ```swift
/// extension ServerEnvironment {
///     static let staging = ServerEnvironment("staging", baseURL: "https://staging.example.com/v1")
/// }
/// ```
///
/// A client has one (``CachingClient/Configuration/environment``). Endpoints without a base URL of
/// their own use it.
public struct ServerEnvironment: Sendable, Hashable {
    /// Its name, for logs and comparisons.
    public var name: String
    /// An absolute `http` or `https` URL. Its path, if any, precedes an endpoint's.
    public var baseURL: String
    /// Base URLs of further services by name, such as `images`, for endpoints that choose one in
    /// ``Endpoint/baseURL(in:)``.
    public var services: [String: String]

    /// Creates an environment.
    public init(_ name: String, baseURL: String, services: [String: String] = [:]) {
        self.name = name
        self.baseURL = baseURL
        self.services = services
    }
}
