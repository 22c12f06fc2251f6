import HTTPCacheSemantics

/// What is asked about a route among all others: each question costs the length of its host and
/// paths, however many routes there are.
struct KnownWays {
    /// The first route of each name.
    private(set) var named: [String: Int] = [:]
    /// The first route of each path, by hosts in lower case; "": any host.
    private let ways: [String: PrefixTable<Int>]
    /// The first route with a mode to each path of an origin (`https://a.example:8443`).
    private let modes: [String: PrefixTable<Int>]

    init(_ routes: [Configuration.Route]) {
        var ways: [String: [[UInt8]: Int]] = [:]
        var modes: [String: [[UInt8]: Int]] = [:]
        for (index, route) in routes.enumerated() {
            if let name = route.name, named[name] == nil { named[name] = index }
            let path = PathPrefix(route.path).normalForm
            let host = route.host?.lowercased() ?? ""
            if ways[host]?[path] == nil { ways[host, default: [:]][path] = index }
            guard route.mode != nil, let (origin, base) = Self.origin(of: route) else { continue }
            if modes[origin]?[base] == nil { modes[origin, default: [:]][base] = index }
        }
        self.ways = ways.mapValues { PrefixTable($0) }
        self.modes = modes.mapValues { PrefixTable($0) }
    }

    /// Scheme and authority of a route's origin, and its path; `nil` where it keeps the client's
    /// host, which goes in the authority's place.
    private static func origin(of route: Configuration.Route) -> (String, [UInt8])? {
        guard !route.preservesHost, let target = try? TargetURI(route.origin) else { return nil }
        return ("\(target.scheme)://\(target.authority)", PathPrefix(target.path).normalForm)
    }

    /// The first route that takes all requests for a route: at last that one itself.
    func firstCovering(_ route: Configuration.Route) -> Int? {
        var first: Int?
        for host in Self.hosts(covering: route.host?.lowercased()) {
            ways[host]?.forEach(startOfPath: PathPrefix(route.path).normalForm) {
                first = min(first ?? $0, $0)
            }
        }
        return first
    }

    /// The hosts of routes to which all requests for a host come. See
    /// ``Configuration/Route/host(_:covers:)``.
    private static func hosts(covering host: String?) -> Set<String> {
        guard let host else { return [""] }
        var hosts: Set<String> = [""]
        // A host without a port stands for any port.
        for host in [host, host.withoutPort] {
            hosts.insert(host)
            if let dot = host.firstIndex(of: "."), dot > host.startIndex {
                hosts.insert("*" + host[dot...])
            }
        }
        return hosts
    }

    /// The first route with a mode whose origin is the same, at or above this one's path: modes
    /// hold for what is asked of an origin, whichever way it was asked.
    func firstWithMode(above route: Configuration.Route) -> Int? {
        guard let (origin, base) = Self.origin(of: route) else { return nil }
        var first: Int?
        modes[origin]?.forEach(startOfPath: base) { first = min(first ?? $0, $0) }
        return first
    }
}
