import HTTPCacheSemantics

/// Finds the routes that share a name, a target or an origin with another route. The cost of a
/// lookup depends on the length of its host and paths, not on the number of routes.
struct RouteLookup {
    /// The first route with each name.
    private(set) var named: [String: Int] = [:]
    /// The first route for each path, by lower-case host. An empty host matches any host.
    private let routesByHost: [String: PrefixTable<Int>]
    /// The routes that set a mode.
    let modes: ByOrigin
    /// The routes that set `tags-from`.
    let tags: ByOrigin

    /// Some of the routes, by origin (`https://a.example:8443`) and path. If several routes lead to
    /// the same path, only the first is kept.
    struct ByOrigin {
        private let paths: [String: PrefixTable<Int>]

        fileprivate init(_ routes: [Configuration.Route], where isMeant: (Configuration.Route) -> Bool) {
            var paths: [String: [[UInt8]: Int]] = [:]
            for (index, route) in routes.enumerated() where isMeant(route) {
                guard let (origin, base) = RouteLookup.origin(of: route), paths[origin]?[base] == nil else { continue }
                paths[origin, default: [:]][base] = index
            }
            self.paths = paths.mapValues { PrefixTable($0) }
        }

        /// Returns the first of these routes that has the same origin as the given route, and leads
        /// to the same path or a parent path. That route's settings apply to every request for
        /// these targets, whichever route the request uses.
        func first(above route: Configuration.Route) -> Int? {
            guard let (origin, base) = RouteLookup.origin(of: route) else { return nil }
            var first: Int?
            paths[origin]?.forEach(startOfPath: base) { first = min(first ?? $0, $0) }
            return first
        }
    }

    init(_ routes: [Configuration.Route]) {
        var routesByHost: [String: [[UInt8]: Int]] = [:]
        for (index, route) in routes.enumerated() {
            if let name = route.name, named[name] == nil { named[name] = index }
            let path = PathPrefix(route.path).normalForm
            let host = route.host?.lowercased() ?? ""
            if routesByHost[host]?[path] == nil { routesByHost[host, default: [:]][path] = index }
        }
        self.routesByHost = routesByHost.mapValues { PrefixTable($0) }
        modes = ByOrigin(routes) { $0.mode != nil }
        tags = ByOrigin(routes) { !$0.tagsFrom.isEmpty }
    }

    /// Returns the scheme and authority of a route's origin, and its path. Returns `nil` if the
    /// route keeps the client's host, which then replaces the authority.
    fileprivate static func origin(of route: Configuration.Route) -> (String, [UInt8])? {
        guard !route.preservesHost, let target = try? TargetURI(route.origin) else { return nil }
        return ("\(target.scheme)://\(target.authority)", PathPrefix(target.path).normalForm)
    }

    /// Returns the first route that matches every request that the given route matches. If no other
    /// route does, this is the given route itself.
    func firstCovering(_ route: Configuration.Route) -> Int? {
        var first: Int?
        for host in Self.hosts(covering: route.host?.lowercased()) {
            routesByHost[host]?.forEach(startOfPath: PathPrefix(route.path).normalForm) {
                first = min(first ?? $0, $0)
            }
        }
        return first
    }

    /// Returns the route hosts that match every request for a host. See
    /// ``Configuration/Route/host(_:covers:)``.
    private static func hosts(covering host: String?) -> Set<String> {
        guard let host else { return [""] }
        var hosts: Set<String> = [""]
        // A host without a port matches any port.
        for host in [host, host.withoutPort] {
            hosts.insert(host)
            if let dot = host.firstIndex(of: "."), dot > host.startIndex {
                hosts.insert("*" + host[dot...])
            }
        }
        return hosts
    }
}
