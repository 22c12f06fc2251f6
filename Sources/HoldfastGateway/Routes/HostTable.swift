import HTTPCacheSemantics

/// What is said about hosts, found by host.
struct HostTable<Element: Sendable>: Sendable {
    private let exact: [String: Element]
    private let labels: [String: Element]
    private let any: Element?

    init(_ elements: [HostPattern.Name: Element]) {
        var exact: [String: Element] = [:]
        var labels: [String: Element] = [:]
        for (name, element) in elements {
            switch name {
            case .exact(let host): exact[host] = element
            case .label(let parent): labels[parent] = element
            case .any: break
            }
        }
        self.exact = exact
        self.labels = labels
        any = elements[.any]
    }

    /// Calls `body` with what is said of a host: of it, of all hosts of one more label than its
    /// parent, and of all.
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

    /// The name without its first label; `nil` where it has but one, or an empty one.
    private static func parent(of host: String) -> Substring? {
        guard let dot = host.utf8.firstIndex(of: UInt8(ascii: ".")), dot > host.startIndex,
            !host.hasPrefix("[")
        else {
            return nil
        }
        return host[host.utf8.index(after: dot)...]
    }
}

/// Places in a list, found by hosts and paths: the first of those that a request belongs to counts,
/// and no others are looked at.
struct WayTable: Sendable {
    private let table: HostTable<PrefixTable<[Int]>>

    /// No places.
    init() { table = HostTable([:]) }

    /// - Parameter ways: in their order. Of a host's and a path's, those that differ in nothing
    ///   else (`identity`) may be left out but for the first.
    init<Identity: Hashable>(
        _ ways: [(name: HostPattern.Name, prefix: PathPrefix, identity: Identity)]
    ) {
        var known: Set<Way<Identity>> = []
        var places: [HostPattern.Name: [[UInt8]: [Int]]] = [:]
        for (place, way) in ways.enumerated() {
            let path = way.prefix.normalForm
            guard known.insert(Way(name: way.name, path: path, identity: way.identity)).inserted else {
                continue
            }
            places[way.name, default: [:]][path, default: []].append(place)
        }
        table = HostTable(places.mapValues { PrefixTable($0) })
    }

    /// The first place of a host and a path that is the right one.
    ///
    /// - Parameters:
    ///   - host: in lower case; `nil` for a request that names none.
    ///   - path: in ``PathNormalForm``.
    func first(host: String?, path: [UInt8], where isRight: (Int) -> Bool) -> Int? {
        var first: Int?
        table.forEach(about: host) { paths in
            paths.forEach(startOfPath: path) { places in
                // In order, so that the first that is right is enough.
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

/// What tells one way from another.
private struct Way<Identity: Hashable>: Hashable {
    var name: HostPattern.Name
    var path: [UInt8]
    var identity: Identity
}
