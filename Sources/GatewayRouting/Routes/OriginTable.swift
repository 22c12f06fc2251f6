import HTTPCacheSemantics

/// Finds the origin of a request from the request alone. The engine sends its own requests to
/// validate responses, and does not know routes.
///
/// A request carries its origin's authority, or the client's if that is preserved. Stored responses
/// have the same authority in their keys. So the properties that decide the origin also separate
/// the responses of different origins.
struct OriginTable: Sendable {
    private struct Entry {
        /// The index of the entry's route.
        var route: Int
        var scheme: String
        var prefix: PathPrefix
        /// The authority that the route's requests carry.
        var pattern: HostPattern
        var endpoint: OriginEndpoint
        /// Whether the entry is for requests without a host, on a route that preserves the host.
        var isForMissingHosts: Bool

        /// - Parameter port: the entry's port; `nil` for entries that match all ports.
        func kind(port: UInt16?) -> Kind { Kind(name: pattern.name, scheme: scheme, port: port) }
    }

    /// The conditions of an entry apart from its path.
    private struct Kind: Hashable {
        var name: HostPattern.Name
        var scheme: String
        var port: UInt16?
    }

    /// The endpoint of all requests, if there is only one.
    private let only: OriginEndpoint?
    private let entries: [Entry]
    private let table: RouteTable
    /// Whether a request of one route may equal a request of another route with another origin.
    let isAmbiguous: Bool

    /// - Parameter isWhole: whether every request belongs to one of these routes.
    init(_ routes: [GatewayRoute], isWhole: Bool) {
        let endpoints = Set(routes.map(\.endpoint))
        only = isWhole && endpoints.count == 1 ? endpoints.first : nil
        isAmbiguous = endpoints.count > 1 && routes.contains(where: \.preservesHost)
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
            // A request without a host carries the origin's host.
            return route.host == nil ? [preserved, own] : [preserved]
        }
        // Entries with an exact host come first. Sorting is not stable, so the index breaks ties.
        entries = all.indices.sorted { (Self.rank(all[$0]), $0) < (Self.rank(all[$1]), $1) }.map { all[$0] }
        table = RouteTable(entries.map { ($0.pattern.name, $0.prefix, $0.kind(port: $0.pattern.port)) })
    }

    /// Returns the endpoint of a request; `nil` if no route leads to its target.
    func endpoint(for target: TargetURI) -> OriginEndpoint? {
        if let only { return only }
        let place = table.first(host: target.host, path: PathNormalForm.path(target.path.utf8)) {
            target.scheme == entries[$0].scheme && entries[$0].pattern.includes(target)
        }
        return place.map { entries[$0].endpoint }
    }

    /// The first route whose requests would all go to another route's origin, and that other route;
    /// `nil` if there is no such route.
    var shadowed: (route: Int, by: Int)? {
        /// The first entry of a kind, and the first entry of that kind with another endpoint.
        struct First {
            var entry: Int
            var other: Int?
        }
        var firsts: [Kind: [[UInt8]: First]] = [:]
        for (place, entry) in entries.enumerated() {
            let (kind, path) = (entry.kind(port: entry.pattern.port), entry.prefix.normalForm)
            var first = firsts[kind]?[path] ?? First(entry: place)
            if first.other == nil, entries[first.entry].endpoint != entry.endpoint { first.other = place }
            firsts[kind, default: [:]][path] = first
        }
        let tables = firsts.mapValues { PrefixTable($0) }
        var found: (route: Int, by: Int)?
        for (place, entry) in entries.enumerated()
        where !entry.isForMissingHosts && entry.route < found?.route ?? .max {
            var first = place
            // An entry without a port matches all ports.
            for port in Set([nil, entry.pattern.port]) {
                tables[entry.kind(port: port)]?.forEach(startOfPath: entry.prefix.normalForm) { candidate in
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
