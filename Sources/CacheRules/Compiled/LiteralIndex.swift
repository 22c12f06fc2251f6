/// Patterns with the same literal prefix, indexed by the bytes between or after their stars.
///
/// A pattern with such bytes is indexed under a piece of up to eight consecutive bytes: the piece
/// that the fewest patterns contain. A path can match the pattern only if it contains this piece. A
/// lookup therefore takes time proportional to the path's length, plus one comparison for each
/// pattern whose piece the path contains, even if many patterns begin with a star.
struct LiteralIndex: Sendable {
    /// All patterns, in the order of their rules.
    let all: [RuleIndex.Entry]
    /// The indices of the patterns without such bytes. These patterns are compared with every path.
    private let always: [Int]
    /// The indices of the other patterns, by the piece under which they are indexed.
    private let places: [Piece: [Int]]
    /// The lengths of all indexed pieces, in ascending order.
    private let lengths: [Int]

    /// The minimum number of patterns that are indexed. Fewer patterns are compared directly, which
    /// is cheaper than a lookup.
    private static let leastIndexed = 8

    /// A piece of one to eight bytes.
    private struct Piece: Hashable, Sendable {
        var bytes: UInt64 = 0
        var count: UInt8 = 0

        static let longest = 8

        init(_ bytes: ArraySlice<UInt8>) {
            for byte in bytes { self.bytes = self.bytes << 8 | UInt64(byte) }
            count = UInt8(bytes.count)
        }

        /// Returns every run of eight bytes in a byte string, or the whole string if it is shorter.
        static func all(of text: [UInt8]) -> [Piece] {
            let count = min(longest, text.count)
            guard count > 0 else { return [] }
            return (0...(text.count - count)).map { Piece(text[$0..<($0 + count)]) }
        }
    }

    init(_ entries: [RuleIndex.Entry]) {
        all = entries
        guard entries.count >= Self.leastIndexed else {
            always = Array(entries.indices)
            places = [:]
            lengths = []
            return
        }
        var counts: [Piece: Int] = [:]
        let pieces = entries.map { entry in
            entry.pattern.path.literalsBehindStars.flatMap { Piece.all(of: $0) }
        }
        for pieces in pieces { for piece in Set(pieces) { counts[piece, default: 0] += 1 } }
        var always: [Int] = []
        var places: [Piece: [Int]] = [:]
        for (place, pieces) in pieces.enumerated() {
            // Choose the rarest piece. Among equally rare pieces, choose the longest, then the
            // first, so that every process builds the same index.
            let rarest = pieces.enumerated().min { first, second in
                (counts[first.element] ?? 0, Piece.longest - Int(first.element.count), first.offset)
                    < (counts[second.element] ?? 0, Piece.longest - Int(second.element.count), second.offset)
            }
            if let rarest {
                places[rarest.element, default: []].append(place)
            } else {
                always.append(place)
            }
        }
        self.always = always
        self.places = places
        lengths = Set(places.keys.map { Int($0.count) }).sorted()
    }

    /// Calls `body` once for each pattern that may match a path.
    func forEach(in path: [UInt8], _ body: (RuleIndex.Entry) -> Void) {
        for place in always { body(all[place]) }
        guard !places.isEmpty else { return }
        // A path may contain the same piece more than once.
        var seen: Set<Piece> = []
        for length in lengths where length <= path.count {
            for start in 0...(path.count - length) {
                let piece = Piece(path[start..<(start + length)])
                guard let found = places[piece], seen.insert(piece).inserted else { continue }
                for place in found { body(all[place]) }
            }
        }
    }
}
