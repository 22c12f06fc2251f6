/// Patterns with one beginning, found by bytes that stand between or behind their stars.
///
/// Each pattern whose path has such bytes is filed under up to eight of them: those that fewest
/// others have. A path can only match the pattern where it holds them. So a look at a path costs
/// its length, and a comparison for each pattern whose bytes are in it, however many patterns begin
/// with a star.
struct LiteralIndex: Sendable {
    /// All patterns, in the order of their rules.
    let all: [RuleIndex.Entry]
    /// Places of those without such bytes.
    private let always: [Int]
    /// Places by the bytes.
    private let places: [Piece: [Int]]
    /// The lengths that pieces have, as they are looked for.
    private let lengths: [Int]

    /// Fewer patterns than these are all compared: that is cheaper than looking.
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

        /// All pieces of a text that have the greatest possible length.
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
            // The rarest, and of those the longest; the first where there is nothing to choose, so
            // that every process files alike.
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
        // A path may hold the same bytes again.
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
