public import GatewayRouting
package import HTTPCache
package import HTTPCacheSemantics
import HTTPTypes
import Synchronization

/// The routes that requests may use: the current routes, and the previous routes for requests that
/// started before the last change.
struct RoutesInUse: Sendable {
    /// A reference to routes. Each request takes one, which is cheaper than retaining each part.
    final class Shared: Sendable {
        let routes: GatewayRoutes
        let origins: GatewayOrigins

        init(_ routes: GatewayRoutes, _ origins: GatewayOrigins) {
            self.routes = routes
            self.origins = origins
        }
    }

    private var current: Shared?
    private var previous: Shared?
    /// The current settings of origins.
    private(set) var origins: GatewayOrigins

    init(_ routes: GatewayRoutes?, _ origins: GatewayOrigins) {
        current = routes.map { Shared($0, origins) }
        self.origins = origins
    }

    var currentRoutes: GatewayRoutes? { current?.routes }

    mutating func change(to routes: GatewayRoutes, _ origins: GatewayOrigins?) {
        previous = current
        if let origins { self.origins = origins }
        current = Shared(routes, self.origins)
    }

    /// Returns the current routes, or the previous routes if no current route leads to a request's
    /// target.
    func routes(for head: HTTPRequest) -> Shared? {
        // Usually there are no previous routes. Returning early avoids searching the current routes
        // twice.
        guard previous != nil, let target = TargetURI(request: head) else { return current }
        return routes(to: target)
    }

    /// Returns the current routes, or the previous routes if no current route leads to a target.
    func routes(to target: TargetURI) -> Shared? {
        guard previous != nil, current?.routes.endpoint(for: target) == nil else { return current }
        return previous
    }
}

extension OriginTransport: TargetOrigins {
    /// Returns the origin of the route that leads to a target, whatever host the target names.
    package func origin(of target: TargetURI) -> Origin {
        guard let shared = routesInUse.withLock({ $0.routes(to: target) }),
            let endpoint = shared.routes.endpoint(for: target)
        else { return Origin(target) }
        return Origin(endpoint)
    }

    /// Returns whether only a pattern of the forward proxy leads to a target: no route leads to its
    /// origin, and the origin has no settings.
    package func isChosenByClients(_ target: TargetURI) -> Bool {
        guard let shared = routesInUse.withLock({ $0.routes(to: target) }),
            shared.routes.proxy?.isChosenByClients(target.host) == true,
            let endpoint = shared.routes.endpoint(for: target), shared.origins.site(of: endpoint) == nil
        else { return false }
        let origin = Origin(endpoint)
        return !shared.routes.own.contains { Origin($0.endpoint) == origin }
    }
}

extension Origin {
    fileprivate init(_ endpoint: OriginEndpoint) {
        self.init(scheme: endpoint.isSecure ? "https" : "http", host: endpoint.host, port: endpoint.port)
    }
}

extension OriginTransport {
    /// Replaces the routes of a transport that was created with routes.
    ///
    /// Call ``prepare(for:_:)`` first: it reports https origins that cannot be used. Requests in
    /// progress still reach the origins of the previous routes.
    ///
    /// - Parameter origins: the result of ``prepare(for:_:)``; `nil` keeps the current settings.
    public func reconfigure(routes: GatewayRoutes, origins: GatewayOrigins? = nil) {
        let origins = drained.withLock { drained in
            // A server that keeps its name stays drained from the first request on.
            origins?.drain(drained)
            return routesInUse.withLock { state in
                state.change(to: routes, origins)
                return state.origins
            }
        }
        telemetry.configure(routes, origins)
    }

    /// The routes in force; `nil` if requests go to their own authority.
    package var currentRoutes: GatewayRoutes? { routesInUse.withLock { $0.currentRoutes } }

    /// Drains these servers, and ends the drain of all others: no new request goes to a drained
    /// server, and requests in progress continue. Health checks continue too, so that a server that
    /// is still down when the drain ends gets no requests.
    ///
    /// - Parameter servers: the names of servers, as in ``originServers``, by the origin's URL.
    ///   Unknown names have an effect once a reload adds the server.
    package func drain(_ servers: [String: Set<String>]) {
        drained.withLock { drained in
            drained = servers
            routesInUse.withLock { $0.origins }.drain(servers)
        }
    }
}
