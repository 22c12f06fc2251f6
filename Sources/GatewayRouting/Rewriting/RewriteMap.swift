import HTTPCacheSemantics

/// Finds the routes whose origin contains a URL. It leads from an origin's URLs back to the URLs
/// that clients request.
package struct RewriteMap: Sendable {
    /// The server that a URL names.
    struct Server: Sendable, Hashable {
        var isSecure: Bool
        /// Lowercase; an IPv6 address in brackets.
        var host: String
        var port: UInt16
    }

    /// The origins of one server.
    struct Origins: Sendable {
        /// The indexes of routes, by the literal path of their origin.
        fileprivate let table: PrefixTable<[Int]>
        /// Whether any of these origins has a path.
        let havePaths: Bool

        /// Returns the origins' paths that a path begins with, longest first, each with its length
        /// and its routes in order. The path may continue within a segment.
        func startingPaths(of path: [UInt8]) -> [(length: Int, routes: [Int])] {
            var found: [(length: Int, routes: [Int])] = []
            table.forEach(startOf: path) { found.append(($0, $1)) }
            return found
        }
    }

    let routes: GatewayRoutes
    private let servers: [Server: Origins]
    /// The maximum length of an origin's host, in bytes.
    let longestHost: Int

    /// - Parameter mirrors: see `GatewayConfiguration.mirrors`.
    package init(_ routes: GatewayRoutes, mirrors: [GatewayOrigin: [GatewayOrigin]] = [:]) {
        self.routes = routes
        var mirrorsOfServers: [Server: [GatewayOrigin]] = [:]
        for (origin, mirrors) in mirrors { mirrorsOfServers[Server(origin), default: []] += mirrors }
        var paths: [Server: [[UInt8]: [Int]]] = [:]
        for (index, route) in routes.routes.enumerated() {
            let (server, path) = (Server(route.origin), route.origin.pathPrefix)
            paths[server, default: [:]][Array(path.utf8), default: []].append(index)
            // The mirror's path has the same content.
            for mirror in mirrorsOfServers[server] ?? [] {
                paths[Server(mirror), default: [:]][Array((mirror.pathPrefix + path).utf8), default: []].append(index)
            }
        }
        servers = paths.mapValues { paths in
            Origins(table: PrefixTable(paths), havePaths: paths.keys.contains { !$0.isEmpty })
        }
        longestHost = paths.keys.map(\.host.utf8.count).max() ?? 0
    }

    /// Returns the origins of a server; `nil` if no route leads to the server.
    func origins(of server: Server) -> Origins? { servers[server] }
}

extension RewriteMap.Server {
    init(_ origin: GatewayOrigin) {
        self.init(isSecure: origin.scheme == "https", host: origin.host, port: origin.port)
    }

    static func defaultPort(isSecure: Bool) -> UInt16 { isSecure ? 443 : 80 }
}
