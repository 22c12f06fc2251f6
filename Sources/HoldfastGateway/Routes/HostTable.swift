/// What is said about hosts, found by host: in the order in which it was said, whatever patterns it was said for.
struct HostTable<Element: Sendable>: Sendable {
    private let exact: [String: [Element]]
    private let labels: [String: [Element]]
    private let others: [Element]

    init(_ elements: [(HostPattern.Name, Element)]) {
        var indices: [HostPattern.Name: [Int]] = [:]
        for (index, element) in elements.enumerated() { indices[element.0, default: []].append(index) }
        func all(_ names: HostPattern.Name?...) -> [Element] {
            names.compactMap(\.self).flatMap { indices[$0] ?? [] }.sorted().map { elements[$0].1 }
        }
        var exact: [String: [Element]] = [:]
        var labels: [String: [Element]] = [:]
        for name in indices.keys {
            switch name {
            case .exact(let host):
                exact[host] = all(name, Self.parent(of: host).map { .label(before: String($0)) }, .any)
            case .label(let parent): labels[parent] = all(name, .any)
            case .any: break
            }
        }
        self.exact = exact
        self.labels = labels
        self.others = all(.any)
    }

    /// What may be about a host; whether it is about the port, too, is for the elements to say.
    ///
    /// - Parameter host: in lower case; `nil` for a request that names none.
    func elements(for host: String?) -> [Element] {
        guard let host else { return others }
        if let elements = exact[host] { return elements }
        if !labels.isEmpty, let parent = Self.parent(of: host), let elements = labels[String(parent)] {
            return elements
        }
        return others
    }

    /// The name without its first label; `nil` where it has but one, or an empty one.
    private static func parent(of host: String) -> Substring? {
        guard let dot = host.utf8.firstIndex(of: UInt8(ascii: ".")), dot > host.startIndex, !host.hasPrefix("[") else {
            return nil
        }
        return host[host.utf8.index(after: dot)...]
    }
}
