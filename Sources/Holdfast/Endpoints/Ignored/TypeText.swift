/// A type as text in Swift's short form, so that a type in source text equals the same type at run
/// time: `Swift.Optional<Swift.String>` becomes `String?`.
package struct TypeText {
    /// The text.
    package private(set) var text: String

    private static let modules = [
        "Swift.", "Foundation.", "FoundationEssentials.", "HTTPTypes.", "HTTPCache.", "CacheRules.",
        "HoldfastContent.", "Holdfast.",
    ]

    /// Creates the short form of a type at run time.
    package init(_ type: Any.Type) { self.init(String(reflecting: type)) }

    /// Creates the short form of a type in source text.
    package init(_ source: String) {
        if source.contains("any ") || source.contains("some ") {
            text = source
            return
        }
        var rest = source.filter { $0 != " " }[...]
        text = Self.read(&rest, depth: 0)
        // The type contains syntax that this parser does not know, such as a function, so keep the
        // text unchanged.
        if !rest.isEmpty { text = source }
    }

    /// Reads one type from the front, with at most 32 levels of nesting.
    private static func read(_ rest: inout Substring, depth: Int) -> String {
        guard depth < 32 else { return "" }
        var type: String
        if take("[", &rest) {
            type = read(&rest, depth: depth + 1)
            if take(":", &rest) { type += ": " + read(&rest, depth: depth + 1) }
            type = "[\(type)]"
            _ = take("]", &rest)
        } else {
            for module in modules where take(module, &rest) { break }
            type = String(rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." || $0 == "…" })
            rest = rest.dropFirst(type.count)
            if take("<", &rest) { type = readArguments(of: type, &rest, depth: depth) }
        }
        while let mark = rest.first, mark == "?" || mark == "!" {
            type.append(mark)
            rest = rest.dropFirst()
        }
        return type
    }

    private static func readArguments(of name: String, _ rest: inout Substring, depth: Int) -> String {
        var arguments = [read(&rest, depth: depth + 1)]
        while take(",", &rest) { arguments.append(read(&rest, depth: depth + 1)) }
        _ = take(">", &rest)
        switch (name, arguments.count) {
        case ("Optional", 1): return arguments[0] + "?"
        case ("Array", 1): return "[\(arguments[0])]"
        case ("Dictionary", 2): return "[\(arguments[0]): \(arguments[1])]"
        default: return "\(name)<\(arguments.joined(separator: ", "))>"
        }
    }

    private static func take(_ word: String, _ rest: inout Substring) -> Bool {
        guard rest.hasPrefix(word) else { return false }
        rest = rest.dropFirst(word.count)
        return true
    }
}
