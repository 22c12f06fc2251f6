/// A nondeterministic automaton for the middle of a ``Glob``. Its states are the positions in the
/// pattern that may have been reached, stored as bits; each byte of the text is one step.
struct GlobAutomaton: Sendable, Hashable {
    /// The number of tokens, which is also the bit of the final state.
    private let end: Int
    private let words: Int
    private let separator: UInt8?
    /// The class of each byte: the number of its mask in ``literals``, from 1. Bytes that are not
    /// in the pattern have class 0.
    private let classes: [UInt8]
    /// The positions of each class in the pattern, as a mask of `words` words.
    private let literals: [UInt64]
    /// The positions of stars that match any byte.
    private let many: [UInt64]
    /// The positions of all stars.
    private let stars: [UInt64]

    /// Creates an automaton that matches the tokens.
    ///
    /// - Parameter tokens: the tokens, without consecutive stars.
    init(_ tokens: [Glob.Token], separator: UInt8?) {
        end = tokens.count
        words = tokens.count / 64 + 1
        self.separator = separator
        var classes = [UInt8](repeating: 0, count: 256)
        var literals: [UInt64] = []
        var many = [UInt64](repeating: 0, count: words)
        var stars = many
        for (index, token) in tokens.enumerated() {
            let bit: UInt64 = 1 << UInt64(index % 64)
            switch token {
            case .byte(let byte):
                if classes[Int(byte)] == 0 {
                    literals += [UInt64](repeating: 0, count: words)
                    classes[Int(byte)] = UInt8(literals.count / words)
                }
                literals[(Int(classes[Int(byte)]) - 1) * words + index / 64] |= bit
            case .one: stars[index / 64] |= bit
            case .many:
                stars[index / 64] |= bit
                many[index / 64] |= bit
            }
        }
        self.classes = classes
        self.literals = literals
        self.many = many
        self.stars = stars
    }

    func matches(_ text: ArraySlice<UInt8>) -> Bool {
        var reached = [UInt64](repeating: 0, count: words)
        reached[0] = 1
        skipStars(&reached)
        for byte in text {
            let mask = Int(classes[Int(byte)]) - 1
            let staying = byte == separator ? many : stars
            var carried: UInt64 = 0
            var any: UInt64 = 0
            for word in 0..<words {
                let read = mask < 0 ? 0 : reached[word] & literals[mask * words + word]
                let next = (read << 1) | carried | (reached[word] & staying[word])
                carried = read >> 63
                reached[word] = next
                any |= next
            }
            guard any != 0 else { return false }
            skipStars(&reached)
        }
        return reached[end / 64] & (1 << UInt64(end % 64)) != 0
    }

    /// Adds the positions after reached stars, because a star may match zero bytes.
    private func skipStars(_ reached: inout [UInt64]) {
        var carried: UInt64 = 0
        for word in 0..<words {
            let skipped = reached[word] & stars[word]
            reached[word] |= (skipped << 1) | carried
            carried = skipped >> 63
        }
    }
}
