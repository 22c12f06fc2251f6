/// Where a set of servers is: production, staging, a developer's own machine.
///
/// ```swift
/// extension ServerEnvironment {
///     static let staging = ServerEnvironment("staging", baseURL: "https://staging.example.com/v1")
/// }
/// ```
///
/// A client has one (``CachingClient/Configuration/environment``); endpoints without a base URL of
/// their own take its.
public struct ServerEnvironment: Sendable, Hashable {
    /// Its name, for logs and comparisons.
    public var name: String
    /// An absolute `http` or `https` URL; its path, if any, goes before an endpoint's.
    public var baseURL: String
    /// Base URLs of further services by name (`images`, say), for endpoints that pick one in
    /// ``Endpoint/baseURL(in:)``.
    public var services: [String: String]

    /// An environment.
    public init(_ name: String, baseURL: String, services: [String: String] = [:]) {
        self.name = name
        self.baseURL = baseURL
        self.services = services
    }
}
