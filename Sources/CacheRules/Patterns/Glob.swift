/// A sequence of bytes and stars: one part of a ``URLPattern``.
///
/// Matching does not backtrack, so its time is bounded by the lengths of the text and the pattern.
package struct Glob: Sendable, Hashable {
    package enum Token: Sendable, Hashable {
        case byte(UInt8)
        /// `*`: any bytes except the separator.
        case one
        /// `**`: any bytes.
        case many
    }

    /// The byte that ``Token/one`` does not match; `nil` if every star matches any bytes.
    package let separator: UInt8?
    package let tokens: [Token]
    /// The bytes before the first star, or all bytes if there is no star.
    package let prefix: [UInt8]
    /// The bytes after the last star; empty if there is no star.
    package let suffix: [UInt8]
    package let hasStar: Bool
    private let middle: Middle

    /// The way in which the bytes between ``prefix`` and ``suffix`` are matched.
    private enum Middle: Sendable, Hashable {
        case nothing
        case anything
        case anythingBut(UInt8)
        case automaton(GlobAutomaton)
    }

    package init(_ text: some Sequence<UInt8>, separator: UInt8?) {
        var tokens: [Token] = []
        for byte in text {
            guard byte == UInt8(ascii: "*") else {
                tokens.append(.byte(byte))
                continue
            }
            // Two or more consecutive stars match anything.
            if tokens.last == .one || tokens.last == .many {
                tokens[tokens.count - 1] = .many
            } else {
                tokens.append(separator == nil ? .many : .one)
            }
        }
        self.separator = separator
        self.tokens = tokens
        prefix = Self.literal(tokens.prefix(while: \.isByte))
        hasStar = prefix.count < tokens.count
        guard hasStar else {
            suffix = []
            middle = .nothing
            return
        }
        let end = tokens.lastIndex { !$0.isByte } ?? 0
        suffix = Self.literal(tokens[(end + 1)...])
        let between = Array(tokens[prefix.count...end])
        switch between {
        case [.many]: middle = .anything
        case [.one]: middle = separator.map(Middle.anythingBut) ?? .anything
        default: middle = .automaton(GlobAutomaton(between, separator: separator))
        }
    }

    private static func literal(_ tokens: some Sequence<Token>) -> [UInt8] {
        tokens.compactMap { if case .byte(let byte) = $0 { byte } else { nil } }
    }

    /// The literals after ``prefix``. Every matching text contains them.
    var literalsBehindStars: [[UInt8]] {
        tokens[prefix.count...].split { !$0.isByte }.map { Self.literal($0) }
    }

    /// Returns whether the glob matches the whole text.
    package func matches(_ text: [UInt8]) -> Bool {
        guard hasStar else { return text == prefix }
        guard text.count >= prefix.count + suffix.count, text.starts(with: prefix),
            text.suffix(suffix.count).elementsEqual(suffix)
        else { return false }
        switch middle {
        case .nothing: return text.count == prefix.count
        case .anything: return true
        case .anythingBut(let separator):
            return !text[prefix.count..<(text.count - suffix.count)].contains(separator)
        case .automaton(let automaton): return automaton.matches(text[prefix.count..<(text.count - suffix.count)])
        }
    }

    /// Returns whether the glob matches every text that another glob matches. Returns `false` if
    /// this cannot be decided.
    func covers(_ other: Glob) -> Bool {
        if tokens == other.tokens { return true }
        if !other.hasStar { return matches(other.prefix) }
        guard case .anything = middle else { return false }
        // The other glob has a star, so its prefix and its suffix do not overlap.
        return other.prefix.starts(with: prefix) && other.suffix.count >= suffix.count
            && other.suffix.suffix(suffix.count).elementsEqual(suffix)
    }
}

extension Glob.Token {
    package var isByte: Bool { if case .byte = self { true } else { false } }
}
