import HTTPCacheSemantics

/// Reads a URL in text whose next piece may not have arrived yet.
struct URLReader {
    /// The error if the end of the piece was reached, but the text may continue.
    struct Incomplete: Error {}

    /// The text around a URL.
    enum Surroundings {
        /// HTML, JSON or other text. JSON may write a slash as `\/` or `\u002f`.
        case text
        /// The URL is the complete text, as in a field.
        case nothing
    }

    /// How a URL's slashes are written.
    enum Slash: String {
        case plain = "/"
        case escaped = #"\/"#
        case coded = #"\u002f"#
    }

    let bytes: UnsafeRawBufferPointer
    var index: Int
    /// Whether the text ends with these bytes.
    let isLast: Bool
    let surroundings: Surroundings

    /// Returns the byte at this offset; `nil` at the end of the text.
    func peek(_ offset: Int = 0) throws(Incomplete) -> UInt8? {
        if index + offset < bytes.count { return bytes[index + offset] }
        if isLast { return nil }
        throw Incomplete()
    }

    /// Whether a lowercase word is next, ignoring case.
    func isNext(_ word: StaticString, at offset: Int = 0) throws(Incomplete) -> Bool {
        for place in 0..<word.utf8CodeUnitCount {
            guard try peek(offset + place)?.asciiLowercased == word.utf8Start[place] else { return false }
        }
        return true
    }

    /// Reads `http:` or `https:`.
    ///
    /// - Returns: whether it is `https`; `nil` if there is neither.
    mutating func readScheme() throws(Incomplete) -> Bool? {
        guard try isNext("http") else { return nil }
        index += 4
        let isSecure = try peek()?.asciiLowercased == UInt8(ascii: "s")
        if isSecure { index += 1 }
        guard let colon = try peekEscapedSymbol(), colon.byte == UInt8(ascii: ":") else { return nil }
        index += colon.width
        return isSecure
    }

    /// Reads a slash.
    ///
    /// - Returns: how the slash is written; `nil` if there is no slash.
    mutating func readSlash() throws(Incomplete) -> Slash? {
        guard let slash = try peekEscapedSymbol(), slash.byte == UInt8(ascii: "/") else { return nil }
        index += slash.width
        return switch slash.width {
        case 1: .plain
        case 2: .escaped
        default: .coded
        }
    }

    /// Reads a host. In text, a dot at its end is not read, because it may end a sentence.
    ///
    /// - Parameter limit: the maximum length of a relevant host, in bytes.
    /// - Returns: the host in lowercase; `nil` if there is none, or if it exceeds the limit.
    mutating func readHost(upTo limit: Int) throws(Incomplete) -> String? {
        var host: [UInt8] = []
        let isBracketed = try peek() == UInt8(ascii: "[")
        while let byte = try peek(), byte.isNameByte || isBracketed && "[]:".utf8.contains(byte) {
            // One more byte may be the dot.
            guard host.count <= limit else { return nil }
            host.append(byte.asciiLowercased)
            index += 1
            if byte == UInt8(ascii: "]") { break }
        }
        if surroundings == .text, host.last == UInt8(ascii: ".") {
            host.removeLast()
            index -= 1
        }
        return host.isEmpty ? nil : String(decoding: host, as: UTF8.self)
    }

    /// Reads a port and its colon, if there is one.
    ///
    /// - Parameter standard: the port if none is written.
    /// - Returns: `nil` if the text is not a port.
    mutating func readPort(_ standard: UInt16) throws(Incomplete) -> UInt16? {
        guard let colon = try peekEscapedSymbol(), colon.byte == UInt8(ascii: ":") else { return standard }
        index += colon.width
        var port = 0
        var count = 0
        while let byte = try peek(), byte.isDigit {
            guard count < 5 else { return nil }
            port = port * 10 + Int(byte &- 0x30)
            count += 1
            index += 1
        }
        return count > 0 ? UInt16(exactly: port) : nil
    }
}
