import HTTPCacheSemantics
import HTTPTypes
package import HTTPWire
package import HoldfastConfiguration

/// The routes that a gateway answers itself: redirects and other fixed responses.
///
/// They have their own table, so that each other route has an origin.
package struct FixedRoutes: Sendable {
    private struct Entry {
        var route: HoldfastConfiguration.Configuration.FixedRoute
        var pattern: HostPattern
    }

    private let entries: [Entry]
    private let table: RouteTable

    /// - Parameter routes: in the order of matching. Their hosts are valid.
    package init(_ routes: [HoldfastConfiguration.Configuration.FixedRoute] = []) {
        entries = routes.compactMap { route in
            let pattern: HostPattern? = route.host.map { HostPattern($0) } ?? .any
            return pattern.map { Entry(route: route, pattern: $0) }
        }
        table = RouteTable(entries.enumerated().map { ($1.pattern.name, PathPrefix($1.route.path), $0) })
    }

    /// Whether there are none.
    package var isEmpty: Bool { entries.isEmpty }

    /// Whether any route has the host that a client requests, whatever the port and the path.
    package func knows(host: RequestedHost?) -> Bool { table.knows(host: host?.name) }

    /// Whether any route is for the host that a client requests, and not for any host.
    package func names(host: RequestedHost) -> Bool { table.names(host: host.name) }

    /// Each route's name, or its number in the file.
    package var names: [String] { entries.map { $0.route.name ?? "\($0.route.number)" } }

    /// The route chosen for a request.
    package struct Choice {
        package var index: Int
        package var route: HoldfastConfiguration.Configuration.FixedRoute
    }

    /// Returns the route that answers a request; `nil` if a route with an origin comes first, or
    /// none matches.
    ///
    /// - Parameters:
    ///   - scheme: the scheme that the client uses.
    ///   - routes: the routes with an origin.
    package func choose(_ request: GatewayRequest, scheme: String, before routes: GatewayRoutes) -> Choice? {
        let (host, path) = (request.authority, PathNormalForm.path(request.target.utf8))
        // Conditions do not depend on the host, which HTTP/1.0 may not have.
        let head = HTTPRequest(
            method: request.method,
            scheme: scheme,
            authority: "localhost",
            path: request.target,
            headerFields: request.fields
        )
        let index = table.first(host: host?.name, path: path) { index in
            entries[index].pattern.includes(port: host?.port, standard: 80) && entries[index].route.holds(for: head)
        }
        guard let index else { return nil }
        let found = entries[index].route
        if found.position > 0, let choice = routes.choose(host: host, target: request.target),
            choice.route < found.position
        {
            return nil
        }
        return Choice(index: index, route: found)
    }
}
