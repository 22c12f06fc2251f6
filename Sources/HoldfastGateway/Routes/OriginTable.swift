import HTTPCacheSemantics

/// Which origin a request goes to, told from nothing but the request: the engine asks anew for what
/// it refreshes, and knows of no routes.
///
/// A request carries its origin's authority, or, where that is preserved, the client's. What is
/// stored is keyed by the same; so what tells where a request goes also keeps what came from
/// different origins apart.
struct OriginTable: Sendable {
    private struct Entry {
        /// Its place among the routes.
        var route: Int
        var scheme: String
        var prefix: PathPrefix
        /// The authority that the route's requests carry.
        var pattern: HostPattern
        var endpoint: OriginEndpoint
        /// Requests without a host are the few of a route that preserves it.
        var isForMissingHosts: Bool
    }

    /// What tells whether a request may be an entry's, apart from its name and path.
    private struct Conditions: Hashable {
        var scheme: String
        var port: UInt16?
    }

    /// Where all requests go to one place, whatever they are.
    private let only: OriginEndpoint?
    private let entries: [Entry]
    private let table: WayTable
    /// Whether a request of one route may look like one of another with another origin.
    let isAmbiguous: Bool

    init(_ routes: [GatewayRoute]) {
        let endpoints = Set(routes.map(\.endpoint))
        only = endpoints.count == 1 ? endpoints.first : nil
        isAmbiguous = endpoints.count > 1 && routes.contains(where: \.preservesHost)
        guard only == nil else {
            entries = []
            table = WayTable()
            return
        }
        let all = routes.enumerated().flatMap { index, route -> [Entry] in
            let endpoint = route.endpoint
            let own = Entry(
                route: index,
                scheme: route.origin.scheme,
                prefix: route.originPrefix,
                pattern: HostPattern(name: .exact(endpoint.host), port: endpoint.port),
                endpoint: endpoint,
                isForMissingHosts: route.preservesHost
            )
            guard route.preservesHost else { return [own] }
            var preserved = own
            preserved.pattern = route.pattern
            preserved.isForMissingHosts = false
            // A request that names no host carries the origin's.
            return route.host == nil ? [preserved, own] : [preserved]
        }
        // A host that is named goes before those that are meant as well. Sorting is not stable.
        let entries = all.indices.sorted { (Self.rank(all[$0]), $0) < (Self.rank(all[$1]), $1) }.map {
            all[$0]
        }
        self.entries = entries
        table = WayTable(
            entries.map {
                ($0.pattern.name, $0.prefix, Conditions(scheme: $0.scheme, port: $0.pattern.port))
            }
        )
    }

    /// Where a request goes; `nil` where it is none of a route's.
    func endpoint(for target: TargetURI) -> OriginEndpoint? {
        if let only { return only }
        let place = table.first(host: target.host, path: PathNormalForm.path(target.path.utf8)) {
            target.scheme == entries[$0].scheme && entries[$0].pattern.includes(target)
        }
        return place.map { entries[$0].endpoint }
    }

    /// The first route all of whose requests another route's origin would get, and that one; `nil`
    /// where each origin gets some.
    var shadowed: (route: Int, by: Int)? {
        /// The first entry of a kind, and the first of them that goes elsewhere.
        struct First {
            var entry: Int
            var other: Int?
        }
        struct Kind: Hashable {
            var name: HostPattern.Name
            var conditions: Conditions
        }
        var firsts: [Kind: [[UInt8]: First]] = [:]
        func kind(_ entry: Entry, port: UInt16?) -> Kind {
            Kind(name: entry.pattern.name, conditions: Conditions(scheme: entry.scheme, port: port))
        }
        for (place, entry) in entries.enumerated() {
            let path = entry.prefix.normalForm
            var first = firsts[kind(entry, port: entry.pattern.port)]?[path] ?? First(entry: place)
            if first.other == nil, entries[first.entry].endpoint != entry.endpoint { first.other = place }
            firsts[kind(entry, port: entry.pattern.port), default: [:]][path] = first
        }
        let tables = firsts.mapValues { PrefixTable($0) }
        var found: (route: Int, by: Int)?
        for (place, entry) in entries.enumerated()
        where !entry.isForMissingHosts && entry.route < found?.route ?? .max {
            var first = place
            // An entry without a port is about all of them.
            for port in Set([nil, entry.pattern.port]) {
                tables[kind(entry, port: port)]?.forEach(startOfPath: entry.prefix.normalForm) {
                    candidate in
                    let isElsewhere = entries[candidate.entry].endpoint != entry.endpoint
                    if let other = isElsewhere ? candidate.entry : candidate.other {
                        first = min(first, other)
                    }
                }
            }
            if first < place { found = (entry.route, entries[first].route) }
        }
        return found
    }

    private static func rank(_ entry: Entry) -> Int {
        switch entry.pattern.name {
        case .exact: 0
        case .label: 1
        case .any: 2
        }
    }
}
