/// The environment variables that correspond to options.
enum ServeVariable: String, CaseIterable, CustomStringConvertible {
    case config = "HOLDFAST_CONFIG"
    case origin = "HOLDFAST_ORIGIN"
    case listen = "HOLDFAST_LISTEN"
    case store = "HOLDFAST_STORE"
    case mode = "HOLDFAST_MODE"
    case threads = "HOLDFAST_THREADS"
    case accessLog = "HOLDFAST_ACCESS_LOG"
    case logLevel = "HOLDFAST_LOG_LEVEL"
    case logFormat = "HOLDFAST_LOG_FORMAT"

    /// The option, without its dashes.
    var description: String {
        String(rawValue.dropFirst("HOLDFAST_".count).lowercased().map { $0 == "_" ? "-" : $0 })
    }

    /// Returns the value, or `nil` if the variable is not set. An empty variable counts as unset,
    /// because the environment files of containers list all variables.
    func value(in environment: [String: String]) -> String? {
        environment[rawValue].flatMap { $0.isEmpty ? nil : $0 }
    }

    static var help: String {
        allCases.map { "  \($0.rawValue.padding(to: 21))as --\($0)" }.joined(separator: "\n")
    }
}

extension String {
    /// Returns the text padded with spaces, at least one.
    func padding(to length: Int) -> String { self + String(repeating: " ", count: max(1, length - count)) }
}
