/// The names of query parameters in an operator's notation: `session`, or `cache_*` for every name
/// that begins with `cache_`.
///
/// Query names are percent-decoded (`s%65ssion` is `session`), then compared byte by byte
/// (case-sensitive). The names are compiled once for all requests.
package struct ParameterNames: Sendable, Hashable {
    private var names: Set<[UInt8]> = []
    private var prefixes: [[UInt8]] = []

    /// - Parameter patterns: decoded names. A `*` at the end matches any ending; a `*` elsewhere is
    ///   an ordinary character.
    package init(_ patterns: [String] = []) {
        for pattern in patterns {
            if pattern.utf8.last == UInt8(ascii: "*") {
                prefixes.append(Array(pattern.utf8.dropLast()))
            } else {
                names.insert(Array(pattern.utf8))
            }
        }
    }

    /// Whether there are no names.
    package var isEmpty: Bool { names.isEmpty && prefixes.isEmpty }

    /// Returns whether a decoded name matches.
    func contains(_ name: [UInt8]) -> Bool {
        names.contains(name) || prefixes.contains { name.starts(with: $0) }
    }
}

/// A piece of a query between two `&` signs, as received.
struct QueryPiece {
    let bytes: ArraySlice<UInt8>

    /// Splits a query into its pieces, including empty ones, so that joining them restores the
    /// query.
    static func split(_ query: String) -> [QueryPiece] {
        Array(query.utf8).split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map(QueryPiece.init)
    }

    static func joined(_ pieces: [QueryPiece]) -> String {
        String(decoding: Array(pieces.map(\.bytes).joined(separator: [UInt8(ascii: "&")])), as: UTF8.self)
    }

    /// The decoded name.
    var name: [UInt8] {
        Self.decoded(bytes.prefix { $0 != UInt8(ascii: "=") })
    }

    /// The decoded value; empty if there is no `=`.
    var value: [UInt8] {
        Self.decoded(bytes.drop { $0 != UInt8(ascii: "=") }.dropFirst())
    }

    /// Whether some servers read more than one parameter in this piece, because they also split at
    /// `;` or `?`, or decode before they split.
    ///
    /// A parameter that such a server finds after the first value would be neither in the key nor
    /// visible to the cache (parameter cloaking). Such a piece is therefore never treated as the
    /// parameter that it looks like, and is never removed.
    var isAmbiguous: Bool {
        var decoded = bytes
        // Decode twice, because some servers do.
        for _ in 0..<2 {
            if decoded.contains(where: { "&;?#".utf8.contains($0) }) { return true }
            decoded = Self.decoded(decoded)[...]
        }
        return decoded.contains { "&;?#".utf8.contains($0) }
    }

    /// Decodes `+` to a space and escapes such as `%41` to their bytes, as
    /// `application/x-www-form-urlencoded` does. A `%` that does not begin an escape stays. Invalid
    /// UTF-8 is replaced with U+FFFD.
    static func decoded(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            if byte == UInt8(ascii: "%"), bytes.endIndex - index > 2, let high = bytes[index + 1].hexValue,
                let low = bytes[index + 2].hexValue
            {
                result.append(high << 4 | low)
                index += 3
            } else {
                result.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
                index += 1
            }
        }
        guard result.contains(where: { $0 >= 0x80 }) else { return result }
        return Array(String(decoding: result, as: UTF8.self).utf8)
    }
}
