import HTTPCacheSemantics

/// Media types and media ranges. RFC 9110 §8.3.1, §12.5.1
package enum MediaTypes {
    /// Returns whether a range (`image/*`, `*/*`, or a single type) covers a type or another range.
    /// Both must be in lower case.
    static func covers(_ range: String, _ other: String) -> Bool {
        if range == other || range == "*/*" { return true }
        return range.hasSuffix("/*") && other.hasPrefix(range.dropLast())
    }

    package static func isRange(_ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(\.isTokenByte) })
        else { return false }
        if parts[1] == "*" { return parts[0] == "*" || !parts[0].contains("*") }
        return !text.contains("*")
    }
}
