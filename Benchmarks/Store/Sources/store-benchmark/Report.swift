/// Figures by name, in the order in which they were measured.
struct Report {
    private var figures: [(name: String, value: Double)] = []

    init(_ figures: KeyValuePairs<String, Double> = [:]) {
        self.figures = figures.map { ($0.key, $0.value) }
    }

    subscript(name: String) -> Double? {
        get { figures.first { $0.name == name }?.value }
        set {
            figures.removeAll { $0.name == name }
            if let newValue { figures.append((name, newValue)) }
        }
    }

    /// JSON: an object of numbers only, so nothing needs escaping.
    var json: String {
        "{" + figures.map { "\"\($0.name)\": \($0.value)" }.joined(separator: ", ") + "}"
    }
}
