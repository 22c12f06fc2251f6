package import HTTPCacheSemantics
import HTTPTypes

extension GatewayRoutes {
    /// The request that the gateway would make for a URL.
    package struct Mapping: Sendable {
        /// The target at the origin.
        package var target: TargetURI
        /// The route; `nil` if the URL already names an origin.
        package var route: GatewayRoute?
    }

    /// Returns the URL under which responses are stored for a URL that clients request, or for an
    /// origin's URL if its route preserves the client's host; `nil` if no route leads there, or if
    /// responses are stored under the URL itself.
    package func originURL(of url: TargetURI) -> TargetURI? {
        guard let mapping = mapping(of: url) else { return nil }
        return mapping.route == nil ? preservedURL(of: url) : mapping.target
    }

    /// Returns an origin's URL with the host that clients request; `nil` unless exactly one such
    /// host leads there.
    private func preservedURL(of url: TargetURI) -> TargetURI? {
        let leading = routes.filter { leads($0, to: url) }
        let hosts = Set(leading.map { $0.preservesHost ? $0.host?.lowercased() : nil })
        guard hosts.count == 1, case let host?? = hosts.first, !host.hasPrefix("*.") else { return nil }
        let head = HTTPRequest(method: .get, scheme: url.scheme, authority: host, path: url.requestTarget)
        return TargetURI(request: head)
    }

    /// Returns whether the responses of an origin's URL are stored under the hosts that clients
    /// request, and which hosts these are is not known.
    package func keepsClientsHosts(of url: TargetURI) -> Bool {
        let leading = routes.filter { leads($0, to: url) }
        return !leading.isEmpty && leading.allSatisfy(\.preservesHost) && preservedURL(of: url) == nil
    }

    private func leads(_ route: GatewayRoute, to url: TargetURI) -> Bool {
        route.origin.scheme == url.scheme && route.origin.host == url.host && route.origin.port == url.port
            && route.originPrefix.rest(of: url.requestTarget) != nil
    }

    /// Maps a URL to its target at an origin, for tools. The URL may name an origin, or be one that
    /// a client would request from the gateway.
    ///
    /// A URL that names a route's origin is used unchanged, even if a route would match it as a URL
    /// that clients request.
    ///
    /// - Parameter isClients: whether a client requests the URL, even if it names an origin.
    /// - Returns: `nil` if no route matches.
    package func mapping(of url: TargetURI, isClients: Bool = false) -> Mapping? {
        if !isClients, routes.contains(where: { leads($0, to: url) }) { return Mapping(target: url) }
        guard let (route, path) = self.route(authority: url.authority, target: url.requestTarget) else { return nil }
        let head = HTTPRequest(
            method: .get,
            scheme: route.origin.scheme,
            authority: route.preservesHost ? url.authority : route.origin.authority,
            path: path
        )
        return TargetURI(request: head).map { Mapping(target: $0, route: route) }
    }
}
