/// Field lines in wire order, with case-insensitive lookup, for both the engine and connections.
struct WireFields: Sendable {
    private(set) var lines: [(name: String, value: String)] = []

    mutating func add(_ name: String, _ value: String) { lines.append((name, value)) }

    mutating func remove(_ name: String) {
        let name = name.lowercased()
        lines.removeAll { $0.name.lowercased() == name }
    }

    /// The values of all lines of this name, with a comma and one space between them.
    func joined(_ name: String) -> String? {
        let name = name.lowercased()
        let values = lines.filter { $0.name.lowercased() == name }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// Each name once, in the order of their first lines.
    var names: [String] {
        var seen: Set<String> = []
        return lines.map(\.name).filter { seen.insert($0.lowercased()).inserted }
    }
}
