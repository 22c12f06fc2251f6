import HTTPCacheSemantics

/// Finds the routes that share a name, a target or an origin with a route. The cost of a lookup
/// depends on the length of its host and paths, not on the number of routes.
struct RouteLookup {
    /// The first route of each name.
    private(set) var named: [String: Int] = [:]
    /// The first route of each path, by hosts in lower case. The host "" stands for any host.
    private let routesByHost: [String: PrefixTable<Int>]
    /// The first route with a mode for each path of an origin (`https://a.example:8443`).
    private let modesByOrigin: [String: PrefixTable<Int>]

    init(_ routes: [Configuration.Route]) {
        var routesByHost: [String: [[UInt8]: Int]] = [:]
        var modesByOrigin: [String: [[UInt8]: Int]] = [:]
        for (index, route) in routes.enumerated() {
            if let name = route.name, named[name] == nil { named[name] = index }
            let path = PathPrefix(route.path).normalForm
            let host = route.host?.lowercased() ?? ""
            if routesByHost[host]?[path] == nil { routesByHost[host, default: [:]][path] = index }
            guard route.mode != nil, let (origin, base) = Self.origin(of: route) else { continue }
            if modesByOrigin[origin]?[base] == nil { modesByOrigin[origin, default: [:]][base] = index }
        }
        self.routesByHost = routesByHost.mapValues { PrefixTable($0) }
        self.modesByOrigin = modesByOrigin.mapValues { PrefixTable($0) }
    }

    /// Scheme and authority of a route's origin, and its path. `nil` if the route keeps the
    /// client's host, which then replaces the authority.
    private static func origin(of route: Configuration.Route) -> (String, [UInt8])? {
        guard !route.preservesHost, let target = try? TargetURI(route.origin) else { return nil }
        return ("\(target.scheme)://\(target.authority)", PathPrefix(target.path).normalForm)
    }

    /// The first route that matches all requests of a route. If no other one does, that is the
    /// route itself.
    func firstCovering(_ route: Configuration.Route) -> Int? {
        var first: Int?
        for host in Self.hosts(covering: route.host?.lowercased()) {
            routesByHost[host]?.forEach(startOfPath: PathPrefix(route.path).normalForm) {
                first = min(first ?? $0, $0)
            }
        }
        return first
    }

    /// The route hosts that match every request for a host. See
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

    /// The first route with a mode that has the same origin, and leads to this one's path or to one
    /// above it. A mode applies to every request for these targets, whichever route it comes by.
    func firstWithMode(above route: Configuration.Route) -> Int? {
        guard let (origin, base) = Self.origin(of: route) else { return nil }
        var first: Int?
        modesByOrigin[origin]?.forEach(startOfPath: base) { first = min(first ?? $0, $0) }
        return first
    }
}
