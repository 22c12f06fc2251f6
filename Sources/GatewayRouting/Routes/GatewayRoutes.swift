package import HTTPCacheSemantics
package import HTTPWire
import HoldfastConfiguration

/// A gateway's routes. Requests only go to the origins of these routes.
///
/// ```swift
/// let routes = try GatewayRoutes([
///     GatewayRoute(
///         host: "api.local",
///         path: "/v1",
///         origin: GatewayOrigin("https://api.example.com/v1")
///     ),
///     GatewayRoute(
///         host: "images.local",
///         origin: GatewayOrigin("http://10.0.0.7:8080"),
///         preservesHost: true
///     ),
/// ])
/// ```
///
/// The first route whose host and path match serves a request. A request that matches no route gets
/// 404 and is not forwarded. A single route without conditions adds no cost. With several routes,
/// each request costs one lookup in a table of hosts and paths.
public struct GatewayRoutes: Sendable {
    /// The routes in the order in which they are tried, and then those of the forward proxy; at
    /// least one, except in `empty`.
    public let routes: [GatewayRoute]
    /// The forward proxy, if there is one.
    package let proxy: ForwardProxy?
    /// The number of routes to one origin, which come first.
    private let ownCount: Int
    /// Whether all requests take the first route.
    private let isUnconditional: Bool
    /// Whether any route or origin has a path.
    let havePaths: Bool
    /// Whether any route checks its clients by their addresses.
    package let checkClients: Bool
    /// The indexes of the routes, by host and path.
    private let table: RouteTable
    private let endpoints: OriginTable

    /// The error for a route that cannot be used with an earlier one.
    public struct Conflict: Error, Sendable, CustomStringConvertible {
        /// The index of the unusable route, from 0.
        public let route: Int
        /// A sentence that states the fault and the next step.
        public let description: String
    }

    /// The route and the path chosen for a request.
    package struct Choice {
        /// The index of the route. One is chosen for each request, and routes are too large to copy
        /// each time.
        package var route: Int
        /// Path and query at the origin.
        package var path: String
    }

    /// No routes, for a gateway that answers every request itself.
    package static let empty = GatewayRoutes(unchecked: [])

    /// Creates routes with one origin for all requests.
    ///
    /// - Parameter preservesHost: whether the client's `Host` is sent to the origin and becomes
    ///   part of the key. For origins that serve several names.
    public init(origin: GatewayOrigin, preservesHost: Bool = false) {
        self.init(unchecked: [GatewayRoute(origin, preservesHost: preservesHost)])
    }

    /// Routes for a forward proxy: requests go to the origins that they name, over the scheme that
    /// they name. A request that names no origin has no route.
    ///
    /// - Parameter upgrades: the protocols to which clients may switch.
    package static func forwarding(upgrades: [String] = []) -> GatewayRoutes {
        empty.adding(.ofCommand) { route in
            route.upgrades = upgrades
            route.rewriting = .none
        }
    }

    /// Returns these routes, with two for a forward proxy: one for each scheme.
    ///
    /// - Parameter change: changes each of the two routes.
    func adding(_ proxy: ForwardProxy, _ change: (inout GatewayRoute) -> Void) -> GatewayRoutes {
        // The hosts of these origins are never used, because each route preserves the host.
        let origins = ["https://origin.invalid", "http://origin.invalid"].compactMap { try? GatewayOrigin($0) }
        let added = origins.map { origin in
            var route = GatewayRoute(origin, preservesHost: true, name: Self.proxyName)
            route.proxy = proxy
            change(&route)
            return route
        }
        return GatewayRoutes(unchecked: Array(own) + added)
    }

    /// The name of a forward proxy's routes, in metrics and logs.
    package static let proxyName = "forward-proxy"

    /// The names of the routes, without duplicates.
    package var names: [String] { own.compactMap(\.name) + (proxy == nil ? [] : [Self.proxyName]) }

    /// The routes to one origin.
    package var own: ArraySlice<GatewayRoute> { routes.prefix(ownCount) }

    private init(unchecked routes: [GatewayRoute]) {
        self.routes = routes
        proxy = routes.last?.proxy
        let own = routes.filter { !$0.forwards }
        ownCount = own.count
        isUnconditional = own.first?.isConditional == false
        havePaths = own.contains(where: \.hasPath)
        checkClients = routes.contains(where: \.checksClients)
        table = RouteTable(own.map { ($0.pattern.name, $0.prefix, $0.pattern.port) })
        endpoints = OriginTable(own, isWhole: proxy == nil)
    }

    /// Returns the routes of a gateway that listens on these ports.
    package func accepting(_ ports: Set<UInt16>) -> GatewayRoutes {
        guard routes.contains(where: { $0.preservesHost && $0.listenerPorts != ports }) else { return self }
        return GatewayRoutes(
            unchecked: routes.map { route in
                var route = route
                route.listenerPorts = ports
                return route
            }
        )
    }

    /// Creates routes that are tried in the given order.
    ///
    /// - Throws: `InvalidSetting` if there are no routes; ``Conflict`` if a route's requests cannot
    ///   be distinguished from those of an earlier route with another origin. This can happen only
    ///   if the client's host is preserved, because only the host and the path then decide where a
    ///   request goes and which stored responses it uses.
    public init(_ routes: [GatewayRoute]) throws {
        guard !routes.isEmpty else {
            throw InvalidSetting("There is no route. Set an origin, or add at least one route.")
        }
        self.init(unchecked: routes)
        guard let (index, other) = endpoints.shadowed else { return }
        let names = "\(Self.name(routes[index], index)) and \(Self.name(routes[other], other))"
        throw Conflict(
            route: index,
            description:
                "\(names) send identical requests to '\(routes[index].endpoint)' and '\(routes[other].endpoint)'. "
                + "Preserve the host in neither, or give their origins different paths."
        )
    }

    /// Returns the route of a request; `nil` if none matches.
    ///
    /// - Parameter request: see ``forwarded(_:unless:)``.
    package func choose(for request: GatewayRequest) -> Choice? {
        guard let proxy, forward(request) else { return choose(host: request.authority, target: request.target) }
        guard proxy.refusal(of: request) == nil else { return nil }
        return Choice(route: request.scheme == .https ? ownCount : ownCount + 1, path: request.target)
    }

    /// Returns a request with the origin to which the forward proxy sends it. A request for another
    /// route names no scheme.
    ///
    /// - Parameter isNamed: whether a route that the gateway answers itself names the host.
    package func forwarded(
        _ request: GatewayRequest,
        unless isNamed: (RequestedHost) -> Bool = { _ in false }
    ) -> GatewayRequest {
        guard let proxy else { return request }
        if let forwarded = proxy.forwarded(request, unless: { table.names(host: $0.name) || isNamed($0) }) {
            return forwarded
        }
        var own = request
        own.scheme = nil
        return own
    }

    /// Whether a request is for the forward proxy.
    ///
    /// - Parameter request: see ``forwarded(_:unless:)``.
    package func forward(_ request: GatewayRequest) -> Bool { proxy != nil && request.scheme != nil }

    /// Returns the route of a request; `nil` if none matches.
    ///
    /// - Parameters:
    ///   - host: the host that the client requests; `nil` if it names none.
    ///   - target: path and query.
    package func choose(host: RequestedHost?, target: String) -> Choice? {
        // Targets begin with a slash, so the bytes need not be normalized here.
        if isUnconditional {
            return routes[0].path(for: target).map { Choice(route: 0, path: $0) }
        }
        // A host without a port means port 80, the default of http. RFC 9110 §4.2.1
        let index = table.first(host: host?.name, path: PathNormalForm.path(target.utf8)) {
            routes[$0].pattern.includes(port: host?.port, standard: 80)
        }
        return index.flatMap { index in
            routes[index].path(for: target).map { Choice(route: index, path: $0) }
        }
    }

    /// Whether any route has the host that a client requests, whatever the port and the path.
    package func knows(host: RequestedHost?) -> Bool {
        // Where there is only the proxy, no host is better than another.
        table.knows(host: host?.name) || proxy != nil && ownCount == 0
    }

    /// Whether a request is rejected because a dot segment might escape the path of a route or an
    /// origin.
    ///
    /// - Parameters:
    ///   - target: path and query.
    ///   - rulesHavePaths: whether rules match paths. A dot segment could evade them.
    package func refuseDotSegments(of target: String, rulesHavePaths: Bool) -> Bool {
        (havePaths || rulesHavePaths) && PathNormalForm.hasDotSegment(target)
    }

    /// Returns the route of a request, and its path and query at the origin, for tools.
    package func route(authority: String?, target: String) -> (route: GatewayRoute, path: String)? {
        choose(host: authority.flatMap { RequestedHost($0) }, target: target).map { (routes[$0.route], $0.path) }
    }

    /// Returns the endpoint of a complete request, which always belongs to one of the routes'
    /// origins, or is one to which the forward proxy leads; `nil` if no route leads to the target.
    package func endpoint(for target: TargetURI) -> OriginEndpoint? {
        if let endpoint = endpoints.endpoint(for: target) { return endpoint }
        return proxy?.leads(to: target) == true ? OriginEndpoint(namedByClient: target) : nil
    }

    /// Whether requests of one route may look like requests of another.
    package var areAmbiguous: Bool { endpoints.isAmbiguous }

    /// Returns `Route 'api'`, or `Route 2` for a route without a name.
    private static func name(_ route: GatewayRoute, _ index: Int) -> String {
        route.name.map { "Route '\($0)'" } ?? "Route \(index + 1)"
    }
}
