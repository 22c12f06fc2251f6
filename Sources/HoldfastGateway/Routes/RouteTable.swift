import HTTPCacheSemantics

/// A table of elements by host.
struct HostTable<Element: Sendable>: Sendable {
    private var exact: [String: Element] = [:]
    private var labels: [String: Element] = [:]
    private var any: Element?

    init(_ elements: [HostPattern.Name: Element]) {
        for (name, element) in elements {
            switch name {
            case .exact(let host): exact[host] = element
            case .label(let parent): labels[parent] = element
            case .any: any = element
            }
        }
    }

    /// Calls `body` with the elements that match a host: that of the host itself, that of all hosts
    /// with one more label than its parent, and that of any host.
    ///
    /// - Parameter host: in lower case; `nil` for a request that names none.
    func forEach(about host: String?, _ body: (Element) -> Void) {
        if let host {
            if let element = exact[host] { body(element) }
            if !labels.isEmpty, let parent = Self.parent(of: host), let element = labels[String(parent)] {
                body(element)
            }
        }
        if let any { body(any) }
    }

    /// The name without its first label; `nil` if it has only one label, or if the first label is
    /// empty.
    private static func parent(of host: String) -> Substring? {
        guard let dot = host.utf8.firstIndex(of: UInt8(ascii: ".")), dot > host.startIndex, !host.hasPrefix("[")
        else { return nil }
        return host[host.utf8.index(after: dot)...]
    }
}

/// A table of indices by host and path. It finds the first index whose host and path match a
/// request, without trying the others.
struct RouteTable: Sendable {
    private let table: HostTable<PrefixTable<[Int]>>

    /// - Parameter routes: the routes in their order. Of those with the same host, path and
    ///   `identity`, only the first is kept.
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
        table = HostTable(places.mapValues { PrefixTable($0) })
    }

    /// The first index that matches a host and a path and meets a condition.
    ///
    /// - Parameters:
    ///   - host: in lower case; `nil` for a request that names none.
    ///   - path: in ``PathNormalForm``.
    func first(host: String?, path: [UInt8], where isRight: (Int) -> Bool) -> Int? {
        var first: Int?
        table.forEach(about: host) { paths in
            paths.forEach(startOfPath: path) { places in
                // The indices are in ascending order, so the first one that meets the condition is
                // enough.
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
}
