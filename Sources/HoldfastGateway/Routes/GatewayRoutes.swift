import HTTPCacheSemantics

/// A gateway's routes, and with them all origins that it ever asks: no request names another.
///
/// ```swift
/// let routes = try GatewayRoutes([
///     GatewayRoute(host: "api.local", path: "/v1", origin: GatewayOrigin("https://api.example.com/v1")),
///     GatewayRoute(host: "images.local", origin: GatewayOrigin("http://10.0.0.7:8080"), preservesHost: true),
/// ])
/// ```
///
/// Of the routes that a request's host and path belong to, the first takes it; a request that no
/// route takes is answered 404, and nothing is sent anywhere. One route without conditions costs a
/// request nothing; among many, one look into a table of hosts and paths finds it.
public struct GatewayRoutes: Sendable {
    /// In the order in which they are tried; at least one.
    public let routes: [GatewayRoute]
    /// Whether all requests go the way of the first.
    private let isUnconditional: Bool
    private let havePaths: Bool
    /// The routes' places, by the hosts and paths they are for.
    private let table: WayTable
    private let endpoints: OriginTable

    /// Why routes cannot stand beside each other.
    public struct Refusal: Error, Sendable, CustomStringConvertible {
        /// The route that cannot be used, counted from 0; `nil` where there is none.
        public let route: Int?
        /// What is wrong, and what to do about it.
        public let description: String
    }

    /// Where a request goes.
    struct Choice {
        /// The route's place: routes are large, and every request has one chosen.
        var route: Int
        /// Path and query at the origin.
        var path: String
    }

    /// One origin for all requests.
    ///
    /// - Parameter preservesHost: sends the client's `Host` to the origin, and keys by it; for
    ///   origins that serve several names.
    public init(origin: GatewayOrigin, preservesHost: Bool = false) {
        let route = GatewayRoute(toAll: origin, preservesHost: preservesHost)
        routes = [route]
        isUnconditional = true
        havePaths = route.hasPath
        table = Self.table(routes)
        endpoints = OriginTable(routes)
    }

    /// - Throws: ``Refusal``: no routes, or one whose requests could not be told from those of an
    ///   earlier one with another origin. That is so where the client's host is preserved: then
    ///   host and path are all that tells where a request goes, and what is stored for it.
    public init(_ routes: [GatewayRoute]) throws {
        guard let first = routes.first else {
            throw Refusal(route: nil, description: "There is no route. Name an origin, or at least one route to one.")
        }
        self.routes = routes
        isUnconditional = !first.isConditional
        havePaths = routes.contains(where: \.hasPath)
        table = Self.table(routes)
        endpoints = OriginTable(routes)
        guard let (index, other) = endpoints.shadowed else { return }
        let names = "\(Self.name(routes[index], index)) and \(Self.name(routes[other], other))"
        throw Refusal(
            route: index,
            description:
                "\(names) make the same requests to '\(routes[index].endpoint)' and '\(routes[other].endpoint)'. "
                + "Preserve the host in neither, or give their origins different paths."
        )
    }

    private static func table(_ routes: [GatewayRoute]) -> WayTable {
        WayTable(routes.map { ($0.pattern.name, $0.prefix, $0.pattern.port) })
    }

    /// The way of a request; `nil` where no route takes it.
    ///
    /// - Parameters:
    ///   - authority: what the client calls the host; `nil` where it does not.
    ///   - target: path and query.
    func choose(authority: String?, target: String) -> Choice? {
        // Targets begin with a slash, so the bytes can stay where they are.
        if isUnconditional {
            return routes[0].path(for: target).map { Choice(route: 0, path: $0) }
        }
        let host = authority.map { RequestedHost($0) }
        // A gateway speaks http, whose port is 80 where none is named. RFC 9110 §4.2.1
        let index = table.first(host: host?.name, path: PathNormalForm.path(target.utf8)) {
            routes[$0].pattern.includes(port: host?.port, standard: 80)
        }
        return index.flatMap { index in
            routes[index].path(for: target).map { Choice(route: index, path: $0) }
        }
    }

    /// Whether a request is refused because it might leave the path of a route, or of an origin,
    /// with a dot segment.
    ///
    /// - Parameters:
    ///   - target: path and query.
    ///   - rulesHavePaths: whether rules go by paths, which a dot segment could evade.
    package func refuseDotSegments(of target: String, rulesHavePaths: Bool) -> Bool {
        (havePaths || rulesHavePaths) && PathNormalForm.hasDotSegment(target)
    }

    /// The way of a request, for whoever wants to know beforehand: its route, and path and query at
    /// the origin.
    package func way(authority: String?, target: String) -> (route: GatewayRoute, path: String)? {
        choose(authority: authority, target: target).map { (routes[$0.route], $0.path) }
    }

    /// Where a request goes that is made already, whoever made it: no further than to one of the
    /// routes' origins.
    func endpoint(for target: TargetURI) -> OriginEndpoint? { endpoints.endpoint(for: target) }

    /// Whether requests of one route may look like those of another.
    var areAmbiguous: Bool { endpoints.isAmbiguous }

    /// `Route 'api'`, or `Route 2`.
    private static func name(_ route: GatewayRoute, _ index: Int) -> String {
        route.name.map { "Route '\($0)'" } ?? "Route \(index + 1)"
    }
}
