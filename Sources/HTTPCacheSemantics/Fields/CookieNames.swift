/// The names of cookies in an operator's notation: `session`, or `wordpress_logged_in_*` for every
/// name that begins with `wordpress_logged_in_`.
///
/// Names are compared by case. The patterns are compiled once for all requests.
public struct CookieNames: Sendable, Hashable {
    /// The patterns, in the operator's order.
    public let patterns: [String]
    private var names: Set<String> = []
    private var prefixes: [String] = []

    /// - Parameter patterns: names for which ``isPattern(_:)`` is `true`. Any other text matches no
    ///   cookie.
    public init(_ patterns: [String]) {
        self.patterns = patterns
        for pattern in patterns where Self.isPattern(pattern) {
            if pattern.utf8.last == UInt8(ascii: "*") {
                prefixes.append(String(pattern.dropLast()))
            } else {
                names.insert(pattern)
            }
        }
    }

    /// Returns whether a text is a cookie name (letters, digits, `-` and `_`), or the beginning of
    /// one followed by `*`.
    public static func isPattern(_ text: String) -> Bool {
        let name = text.utf8.dropLast(text.utf8.last == UInt8(ascii: "*") ? 1 : 0)
        return !text.isEmpty && name.allSatisfy(\.isCookieNameByte)
    }

    /// Returns whether a name matches.
    public func contains(_ name: String) -> Bool {
        names.contains(name) || prefixes.contains { name.utf8.starts(with: $0.utf8) }
    }

    /// Returns whether some name matches both these patterns and another pattern.
    package func overlaps(_ pattern: String) -> Bool {
        guard pattern.utf8.last == UInt8(ascii: "*") else { return contains(pattern) }
        let prefix = pattern.utf8.dropLast()
        return names.contains { $0.utf8.starts(with: prefix) }
            || prefixes.contains { $0.utf8.starts(with: prefix) || prefix.starts(with: $0.utf8) }
    }
}

extension UInt8 {
    /// Whether the byte may be in a name that every server reads in the same way.
    ///
    /// RFC 6265 allows every token. But PHP reads `session.id` and `session[]` as other names, and
    /// servers decode `%73ession`.
    var isCookieNameByte: Bool { isAlphanumeric || self == UInt8(ascii: "-") || self == UInt8(ascii: "_") }

    /// Whether the byte may be in a value without quotes. RFC 6265 §4.1.1
    var isCookieValueByte: Bool {
        switch self {
        case UInt8(ascii: "\""), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\\"): false
        default: self > 0x20 && self < 0x7F
        }
    }
}
