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
        FormParameter.decoded(bytes.prefix { $0 != UInt8(ascii: "=") })
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
            decoded = FormParameter.decoded(decoded)[...]
        }
        return decoded.contains { "&;?#".utf8.contains($0) }
    }
}
