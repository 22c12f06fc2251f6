package import HTTPCacheSemantics
import HTTPTypes
import HTTPWire

/// The routes by which clients get stored responses.
///
/// A route gets only the requests that no earlier route takes, and no route with `respond`.
package struct ClientRoutes: Sendable {
    private let routes: GatewayRoutes
    private let fixed: FixedRoutes
    private let schemes: Set<String>

    /// - Parameters:
    ///   - fixed: the routes with `respond`.
    ///   - schemes: the schemes that clients use.
    package init(_ routes: GatewayRoutes, _ fixed: FixedRoutes, schemes: Set<String>) {
        self.routes = routes
        self.fixed = fixed
        self.schemes = schemes
    }

    /// Returns whether any client gets the response that is stored for a target.
    package func find(_ target: TargetURI) -> Bool {
        routes.routes.enumerated().contains { leads($0.element, at: $0.offset, to: target) }
    }

    /// Returns the routes on which clients get the response that is stored for a target.
    package func routes(to target: TargetURI) -> [GatewayRoute] {
        routes.routes.enumerated().filter { leads($0.element, at: $0.offset, to: target) }.map { $0.element }
    }

    /// Returns whether any request for a target takes a route that finds it.
    private func leads(_ route: GatewayRoute, at index: Int, to target: TargetURI) -> Bool {
        guard route.finds(target) else { return false }
        // Clients of the proxy name the origin, instead of a host and a path of these routes.
        if route.forwards { return true }
        guard let path = route.clientPath(of: target) else { return false }
        return hosts(of: route, for: target).contains { host in
            guard routes.choose(host: host, target: path)?.route == index else { return false }
            let request = GatewayRequest(
                method: .get,
                target: path,
                authority: host,
                fields: [:],
                receivedProtocol: .http11,
                content: .none
            )
            return schemes.contains { fixed.choose(request, scheme: $0, before: routes) == nil }
        }
    }

    /// Returns hosts that clients of a route may request. If the route has many hosts, one that no
    /// other route has a reason to name is enough.
    private func hosts(of route: GatewayRoute, for target: TargetURI) -> [RequestedHost] {
        let name: String =
            if route.preservesHost {
                target.authority
            } else {
                switch route.pattern.name {
                case .exact(let host): host
                case .label(let parent): "holdfast-check.\(parent)"
                case .any: "holdfast-check.invalid"
                }
            }
        guard let host = RequestedHost(name) else { return [] }
        if let port = route.pattern.port { return [host.with(port: port)] }
        // Earlier routes may be for port 80 only, which is also the port of a host without one.
        return host.port == nil ? [host, host.with(port: 1)] : [host]
    }
}
