/// Names of query parameters as an operator writes them: `session`, or `cache_*` for all that begin
/// with `cache_`.
///
/// They are compared as bytes, case included, with a query's names percent-decoded (`s%65ssion` is
/// `session`). Compiled once for all requests.
public struct ParameterNames: Sendable, Hashable {
    private var names: Set<[UInt8]> = []
    private var prefixes: [[UInt8]] = []

    /// - Parameter patterns: names, decoded; a trailing `*` stands for any ending. A `*` elsewhere
    ///   is itself.
    public init(_ patterns: [String] = []) {
        for pattern in patterns {
            if pattern.utf8.last == UInt8(ascii: "*") {
                prefixes.append(Array(pattern.utf8.dropLast()))
            } else {
                names.insert(Array(pattern.utf8))
            }
        }
    }

    /// There are none.
    public var isEmpty: Bool { names.isEmpty && prefixes.isEmpty }

    /// Whether a name, decoded, is one of these.
    func contains(_ name: [UInt8]) -> Bool {
        names.contains(name) || prefixes.contains { name.starts(with: $0) }
    }
}

/// A piece of a query between two `&`, as it came.
struct QueryPiece {
    let bytes: ArraySlice<UInt8>

    /// The pieces of a query, empty ones included: joined again they are the query.
    static func split(_ query: String) -> [QueryPiece] {
        Array(query.utf8).split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map(QueryPiece.init)
    }

    static func joined(_ pieces: [QueryPiece]) -> String {
        String(decoding: Array(pieces.map(\.bytes).joined(separator: [UInt8(ascii: "&")])), as: UTF8.self)
    }

    /// Decoded.
    var name: [UInt8] {
        FormParameter.decoded(bytes.prefix { $0 != UInt8(ascii: "=") })
    }

    /// Whether some servers read more than one parameter in it: they separate at `;` or `?` too, or
    /// decode before they separate.
    ///
    /// What such a server finds behind the first value would be neither in the key nor seen by the
    /// cache (parameter cloaking), so a piece like this is what it looks like to nobody in
    /// particular, and stays where it is.
    var isAmbiguous: Bool {
        var decoded = bytes
        // Twice, because some decode what was decoded.
        for _ in 0..<2 {
            if decoded.contains(where: { "&;?#".utf8.contains($0) }) { return true }
            decoded = FormParameter.decoded(decoded)[...]
        }
        return decoded.contains { "&;?#".utf8.contains($0) }
    }
}
