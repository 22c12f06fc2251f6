package import HTTPCacheSemantics
import HTTPTypes

extension GatewayRoutes {
    /// A URL as the gateway's cache would be asked for it.
    package struct Mapping: Sendable {
        /// The target at the origin.
        package var target: TargetURI
        /// The way it went; `nil` where it is an origin's already.
        package var route: GatewayRoute?
    }

    /// Where a URL leads that is an origin's, or that a client would ask the gateway for; for
    /// people.
    ///
    /// A URL of one of the routes' origins is taken as it stands, whatever a route would make of it
    /// as a client's.
    ///
    /// - Returns: `nil` where no route takes it.
    package func mapping(of url: TargetURI) -> Mapping? {
        let isOrigins = routes.contains { route in
            route.origin.scheme == url.scheme && route.origin.host == url.host && route.origin.port == url.port
                && route.originPrefix.rest(of: url.requestTarget) != nil
        }
        if isOrigins { return Mapping(target: url) }
        guard let (route, path) = way(authority: url.authority, target: url.requestTarget) else { return nil }
        let head = HTTPRequest(
            method: .get,
            scheme: route.origin.scheme,
            authority: route.preservesHost ? url.authority : route.origin.authority,
            path: path
        )
        return TargetURI(request: head).map { Mapping(target: $0, route: route) }
    }
}
