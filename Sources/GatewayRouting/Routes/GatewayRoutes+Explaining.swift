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

    /// Returns the origin's URL for a URL that clients request; `nil` if no route leads there, or
    /// if the URL is already an origin's.
    package func originURL(of url: TargetURI) -> TargetURI? {
        guard let mapping = mapping(of: url), mapping.route != nil else { return nil }
        return mapping.target
    }

    /// Maps a URL to its target at an origin, for tools. The URL may name an origin, or be one that
    /// a client would request from the gateway.
    ///
    /// A URL that names a route's origin is used unchanged, even if a route would match it as a URL
    /// that clients request.
    ///
    /// - Returns: `nil` if no route matches.
    package func mapping(of url: TargetURI) -> Mapping? {
        let isOrigins = routes.contains { route in
            route.origin.scheme == url.scheme && route.origin.host == url.host && route.origin.port == url.port
                && route.originPrefix.rest(of: url.requestTarget) != nil
        }
        if isOrigins { return Mapping(target: url) }
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
