import HTTPCacheSemantics

/// Which origin a request goes to, told from nothing but the request: the engine asks anew for what it refreshes, and knows of no routes.
///
/// A request carries its origin's authority, or, where that is preserved, the client's. What is stored is keyed by the same; so what tells where a request goes also keeps what
/// came from different origins apart.
struct OriginTable: Sendable {
    private struct Entry {
        var route: GatewayRoute
        /// The authority that the route's requests carry.
        var pattern: HostPattern
        var endpoint: OriginEndpoint

        /// Whether a request may be of this entry's route.
        func includes(_ target: TargetURI) -> Bool {
            target.scheme == route.origin.scheme && pattern.includes(target)
                && route.originPrefix.rest(of: target.path) != nil
        }

        /// Whether all requests that are of another entry's route look like this one's.
        func covers(_ other: Entry) -> Bool {
            let coversName = pattern.name == other.pattern.name
            let coversPort = pattern.port == nil || pattern.port == other.pattern.port
            return coversName && coversPort && route.origin.scheme == other.route.origin.scheme
                && route.originPrefix.covers(other.route.originPrefix)
        }
    }

    /// Where all requests go to one place, whatever they are.
    private let only: OriginEndpoint?
    private let entries: [Entry]
    private let table: HostTable<Entry>
    /// Whether a request of one route may look like one of another with another origin.
    let isAmbiguous: Bool

    init(_ routes: [GatewayRoute]) {
        let endpoints = Set(routes.map(\.endpoint))
        only = endpoints.count == 1 ? endpoints.first : nil
        isAmbiguous = endpoints.count > 1 && routes.contains(where: \.preservesHost)
        guard only == nil else {
            entries = []
            table = HostTable([])
            return
        }
        let entries = routes.flatMap { route -> [Entry] in
            let endpoint = route.endpoint
            let own = Entry(
                route: route,
                pattern: HostPattern(name: .exact(endpoint.host), port: endpoint.port),
                endpoint: endpoint
            )
            guard route.preservesHost else { return [own] }
            let preserved = Entry(route: route, pattern: route.pattern, endpoint: endpoint)
            // A request that names no host carries the origin's.
            return route.host == nil ? [preserved, own] : [preserved]
        }
        // A host that is named goes before those that are meant as well.
        let ranks = entries.indices.sorted { (Self.rank(entries[$0]), $0) < (Self.rank(entries[$1]), $1) }
        self.entries = ranks.map { entries[$0] }
        table = HostTable(self.entries.map { ($0.pattern.name, $0) })
    }

    /// Where a request goes; `nil` where it is none of a route's.
    func endpoint(for target: TargetURI) -> OriginEndpoint? {
        if let only { return only }
        return table.elements(for: target.host).first { $0.includes(target) }?.endpoint
    }

    /// The route whose origin would get all of another's requests; `nil` where that one's own gets some.
    func shadowing(_ route: GatewayRoute) -> GatewayRoute? {
        for (index, entry) in entries.enumerated() where entry.route == route {
            // Requests without a host are the few of a route that preserves it.
            if route.preservesHost, entry.pattern != route.pattern { continue }
            if let other = entries[..<index].first(where: { $0.endpoint != entry.endpoint && $0.covers(entry) }) {
                return other.route
            }
        }
        return nil
    }

    private static func rank(_ entry: Entry) -> Int {
        switch entry.pattern.name {
        case .exact: 0
        case .label: 1
        case .any: 2
        }
    }
}
