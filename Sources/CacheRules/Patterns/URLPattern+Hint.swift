extension URLPattern {
    /// Advice about a valid pattern that was probably meant as a regular expression, or for all
    /// URLs below a path; `nil` for all others.
    var hint: String? {
        let path = text.prefix { $0 != "?" }
        let query = text.dropFirst(path.count)
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        if let segment = segments.first(where: Self.isAnything) {
            let written = segments.map { Self.isAnything($0) ? "**" : String($0) }.joined(separator: "/")
            return
                "'\(segment.prefix(2))' is not a regular expression here: it matches only \(Self.meaning(of: segment)). Write \(shown("\(written)\(query)"))."
        }
        if let construct = Self.construct(in: path) {
            return
                "\(shown(construct)) matches only itself: patterns are not regular expressions. '*' matches any bytes within a segment, '**' any bytes."
        }
        if let stars = path.firstRange(of: "***") {
            let rest = path[stars.upperBound...].drop { $0 == "*" }
            return "Three stars mean the same as two. Write \(shown("\(path[..<stars.lowerBound])**\(rest)\(query)"))."
        }
        // The root of a host is a page of its own: '/', 'https://a.example/'.
        let root = path.firstRange(of: "://") == nil ? 2 : 4
        if query.isEmpty, path.hasSuffix("/"), !path.contains("*"), segments.count > root {
            return
                "\(shown(path)) matches only this URL, and no URL below it. For all of them, write \(shown("\(path)**"))."
        }
        return nil
    }

    /// Parts of regular expressions that hardly any URL contains.
    private static let constructs = ["\\", "[0-9", "[a-z", "[A-Z", "[^", "(?"]

    /// Returns a part of a regular expression in a path, a bracket with its end: `[0-9]+`.
    private static func construct(in path: Substring) -> Substring? {
        guard let found = constructs.lazy.compactMap({ path.firstRange(of: $0) }).first else {
            return path.hasSuffix("$") ? path.suffix(1) : nil
        }
        guard path[found].hasPrefix("["), let end = path[found.upperBound...].firstIndex(of: "]") else {
            return path[found]
        }
        let next = path.index(after: end)
        return path[found.lowerBound..<next] + (path[next...].hasPrefix("+") ? "+" : "")
    }

    /// Returns whether a segment is a regular expression for any text. Names that begin with a dot
    /// are `.**`, or `.*` next to other text.
    private static func isAnything(_ segment: Substring) -> Bool { [".*", ".+", ".*$", ".+$"].contains(segment) }

    private static func meaning(of segment: Substring) -> String {
        segment.hasPrefix(".*") ? "names that begin with a dot" : "these characters"
    }
}
