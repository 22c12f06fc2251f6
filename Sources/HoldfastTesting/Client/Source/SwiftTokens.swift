import HTTPCacheSemantics

/// A word, number, string or symbol in Swift source.
struct SwiftToken: Equatable {
    enum Kind { case word, number, text, sign }

    var kind: Kind
    /// The word, number or symbol; empty for a string.
    var text: String
    /// The line number, starting at 1.
    var line: Int
}

/// Splits Swift source into tokens and drops comments. Regular expression literals are not
/// supported.
struct SwiftTokens {
    private let source: [UInt8]
    private var position = 0
    private var line = 1
    /// The nesting depth of interpolations.
    private var depth = 0
    private(set) var all: [SwiftToken] = []

    init(_ source: String) {
        self.source = Array(source.utf8)
        while position < self.source.count { readToken() }
    }

    private func byte(_ distance: Int = 0) -> UInt8? {
        position + distance < source.count ? source[position + distance] : nil
    }

    private func begins(_ text: String) -> Bool {
        source[position...].starts(with: text.utf8)
    }

    private mutating func advance(_ count: Int = 1) {
        for _ in 0..<count where position < source.count {
            if source[position] == UInt8(ascii: "\n") { line += 1 }
            position += 1
        }
    }

    private mutating func readToken() {
        guard let byte = byte() else { return }
        if byte <= 0x20 { return advance() }
        if begins("//") { return skipLine() }
        if begins("/*") { return skipComment() }
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "#"), let hashes = hashesBeforeText() {
            return readText(hashes)
        }
        if byte == UInt8(ascii: "`") { return advance() }
        if Self.isLetter(byte) { return readWord(.word) }
        if byte.isDigit { return readWord(.number) }
        append(.sign, String(decoding: [byte], as: UTF8.self))
        advance()
    }

    private mutating func append(_ kind: SwiftToken.Kind, _ text: String) {
        all.append(SwiftToken(kind: kind, text: text, line: line))
    }

    private mutating func skipLine() {
        while let byte = byte(), byte != UInt8(ascii: "\n") { advance() }
    }

    /// Comments can be nested.
    private mutating func skipComment() {
        var depth = 0
        repeat {
            if begins("/*") { depth += 1 } else if begins("*/") { depth -= 1 } else { advance(); continue }
            advance(2)
        } while depth > 0 && position < source.count
    }

    private mutating func readWord(_ kind: SwiftToken.Kind) {
        let start = position
        while let byte = byte() {
            let isFraction =
                kind == .number && byte == UInt8(ascii: ".") && self.byte(1)?.isDigit == true
            guard Self.isLetter(byte) || byte.isDigit || isFraction else { break }
            position += 1
        }
        append(kind, String(decoding: source[start..<position], as: UTF8.self))
    }

    /// Returns the number of `#` characters before a string that starts here; `nil` if no string
    /// starts here.
    private func hashesBeforeText() -> Int? {
        var count = 0
        while byte(count) == UInt8(ascii: "#") { count += 1 }
        return byte(count) == UInt8(ascii: "\"") ? count : nil
    }

    private mutating func readText(_ hashes: Int) {
        append(.text, "")
        advance(hashes)
        let marks = String(repeating: "#", count: hashes)
        let isLong = begins("\"\"\"")
        let end = (isLong ? "\"\"\"" : "\"") + marks
        advance(isLong ? 3 : 1)
        while let byte = byte() {
            if begins(end) { return advance(end.utf8.count) }
            // A single-line string always ends at the end of the line.
            if !isLong, byte == UInt8(ascii: "\n") { return }
            if begins("\\" + marks + "("), depth < 32 {
                advance(hashes + 2)
                depth += 1
                skipInterpolation()
                depth -= 1
            } else if begins("\\" + marks) {
                advance(hashes + 2)
            } else {
                advance()
            }
        }
    }

    /// Skips an interpolation, which may contain strings.
    private mutating func skipInterpolation() {
        let count = all.count
        var depth = 1
        while depth > 0, position < source.count {
            let first = all.count
            readToken()
            guard all.count > first, let last = all.last, last.kind == .sign else { continue }
            if last.text == "(" { depth += 1 }
            if last.text == ")" { depth -= 1 }
        }
        all.removeSubrange(count...)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        byte.isAlpha || byte == UInt8(ascii: "_") || byte >= 0x80
    }
}
