/// Recognizes patterns where a purge takes a URL. Some caches purge by patterns, so clients send
/// `/item/.*`. As a URL, it names nothing, and the purge would succeed without effect.
package enum PurgePattern {
    /// Returns the part of a URL before the first wildcard, which is the prefix to purge instead.
    ///
    /// - Returns: `nil` for a text without wildcards in its path. A star elsewhere may belong to
    ///   the URL.
    package static func prefix(of url: String) -> String? {
        let path = url.prefix { $0 != "?" }
        guard path.hasSuffix("*") || path.hasSuffix("*$") || path.contains(".*") || path.contains("**"),
            let star = path.firstIndex(of: "*")
        else { return nil }
        var prefix = path[..<star]
        while let last = prefix.last, last == "." || last == "(" { prefix.removeLast() }
        return String(prefix)
    }
}
