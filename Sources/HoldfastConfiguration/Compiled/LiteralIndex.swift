/// Patterns with the same literal prefix, indexed by bytes that stand between or after their stars.
///
/// Each pattern whose path has such bytes is filed under up to eight of them: those that the fewest
/// other patterns have. A path can match the pattern only if it contains these bytes. So a lookup
/// costs the path's length, and one comparison for each pattern whose bytes the path contains,
/// however many patterns begin with a star.
struct LiteralIndex: Sendable {
    /// All patterns, in the order of their rules.
    let all: [RuleIndex.Entry]
    /// Indices of the patterns that have no such bytes. They are compared with every path.
    private let always: [Int]
    /// Indices of the other patterns, by the bytes under which they are filed.
    private let places: [Piece: [Int]]
    /// The lengths of all pieces in use, in ascending order.
    private let lengths: [Int]

    /// With fewer patterns, each one is compared: that is cheaper than a lookup.
    private static let leastIndexed = 8

    /// Up to eight bytes, and how many they are.
    private struct Piece: Hashable, Sendable {
        var bytes: UInt64 = 0
        var count: UInt8 = 0

        static let longest = 8

        init(_ bytes: ArraySlice<UInt8>) {
            for byte in bytes { self.bytes = self.bytes << 8 | UInt64(byte) }
            count = UInt8(bytes.count)
        }

        /// All pieces of a text with the greatest possible length.
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
            // The rarest piece, and of several the longest. If several remain, the first one is
            // taken, so that every process files alike.
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

    /// Calls `body` with each pattern that may match a path; each once.
    func forEach(in path: [UInt8], _ body: (RuleIndex.Entry) -> Void) {
        for place in always { body(all[place]) }
        guard !places.isEmpty else { return }
        // A path may contain the same bytes twice.
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
