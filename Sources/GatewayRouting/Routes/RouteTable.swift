import HTTPCacheSemantics

/// A table of indexes by host and path. It finds the first index whose host and path match a
/// request, without trying the others.
struct RouteTable: Sendable {
    private var exact: [String: PrefixTable<[Int]>] = [:]
    private var labels: [String: PrefixTable<[Int]>] = [:]
    private var any: PrefixTable<[Int]>?

    /// - Parameter routes: the routes in order. Of routes with the same host, path and `identity`,
    ///   only the first is kept.
    init<Identity: Hashable>(
        _ routes: [(name: HostPattern.Name, prefix: PathPrefix, identity: Identity)]
    ) {
        var known: [HostPattern.Name: [[UInt8]: Set<Identity>]] = [:]
        var places: [HostPattern.Name: [[UInt8]: [Int]]] = [:]
        for (place, route) in routes.enumerated() {
            let path = route.prefix.normalForm
            guard known[route.name, default: [:]][path, default: []].insert(route.identity).inserted else { continue }
            places[route.name, default: [:]][path, default: []].append(place)
        }
        for (name, paths) in places {
            switch name {
            case .exact(let host): exact[host] = PrefixTable(paths)
            case .label(let parent): labels[parent] = PrefixTable(paths)
            case .any: any = PrefixTable(paths)
            }
        }
    }

    /// Returns the first index that matches a host and a path and meets a condition.
    ///
    /// - Parameters:
    ///   - host: lowercase; `nil` for a request without a host.
    ///   - path: in ``PathNormalForm``.
    func first(host: String?, path: [UInt8], where isRight: (Int) -> Bool) -> Int? {
        var first: Int?
        forEach(about: host) { paths in
            paths.forEach(startOfPath: path) { places in
                // Indexes are in ascending order, so the first match is enough.
                for place in places {
                    if let first, first < place { break }
                    guard isRight(place) else { continue }
                    first = place
                    break
                }
            }
        }
        return first
    }

    /// Whether any path of a host has an index.
    func knows(host: String?) -> Bool {
        var isKnown = false
        forEach(about: host) { _ in isKnown = true }
        return isKnown
    }

    /// Whether any path of a host has an index that is not for any host.
    func names(host: String) -> Bool {
        exact[host] != nil || Self.parent(of: host).map { labels[String($0)] != nil } ?? false
    }

    /// Calls `body` with the paths for the host itself, for all hosts with the same parent domain,
    /// and for any host.
    private func forEach(about host: String?, _ body: (PrefixTable<[Int]>) -> Void) {
        if let host {
            if let paths = exact[host] { body(paths) }
            if !labels.isEmpty, let parent = Self.parent(of: host), let paths = labels[String(parent)] { body(paths) }
        }
        if let any { body(any) }
    }

    /// Returns the name without its first label; `nil` if it has only one label, or if the first
    /// label is empty.
    static func parent(of host: String) -> Substring? {
        guard let dot = host.utf8.firstIndex(of: UInt8(ascii: ".")), dot > host.startIndex, !host.hasPrefix("[")
        else { return nil }
        return host[host.utf8.index(after: dot)...]
    }
}
