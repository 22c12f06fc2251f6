import HTTPCacheSemantics

/// Characters that JSON and HTML encode as several bytes.
extension URLReader {
    /// A character as decoded from the text.
    struct Symbol {
        /// 0xFF for every character outside ASCII.
        var byte: UInt8
        /// The number of bytes that encode the character.
        var width: Int

        fileprivate init(code: Int, width: Int) {
            byte = code < 0x80 ? UInt8(code) : 0xFF
            self.width = width
        }

        fileprivate init(_ byte: UInt8) {
            self.byte = byte
            width = 1
        }
    }

    /// Returns the character at this offset; `nil` at the end of the text.
    ///
    /// Text may be JSON, HTML, or one inside the other, so the escapes of both are decoded.
    func peekSymbol(_ offset: Int = 0) throws(Incomplete) -> Symbol? {
        guard let byte = try peek(offset) else { return nil }
        guard surroundings == .text else { return Symbol(byte) }
        switch byte {
        case UInt8(ascii: "\\"): return try escape(offset) ?? Symbol(byte)
        case UInt8(ascii: "&"): return try entity(offset) ?? Symbol(byte)
        default: return Symbol(byte)
        }
    }

    /// Returns a character that JSON may have escaped: `\/` or `\u002f`.
    func peekEscapedSymbol(_ offset: Int = 0) throws(Incomplete) -> Symbol? {
        guard let byte = try peek(offset) else { return nil }
        guard surroundings == .text, byte == UInt8(ascii: "\\") else { return Symbol(byte) }
        return try escape(offset) ?? Symbol(byte)
    }

    /// Returns the character of an escape that begins with a backslash; `nil` if it is not an
    /// escape. RFC 8259 §7
    private func escape(_ offset: Int) throws(Incomplete) -> Symbol? {
        guard let letter = try peek(offset + 1) else { return nil }
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "/"), UInt8(ascii: "\\"):
            return Symbol(code: Int(letter), width: 2)
        case UInt8(ascii: "b"): return Symbol(code: 0x08, width: 2)
        case UInt8(ascii: "f"): return Symbol(code: 0x0C, width: 2)
        case UInt8(ascii: "n"): return Symbol(code: 0x0A, width: 2)
        case UInt8(ascii: "r"): return Symbol(code: 0x0D, width: 2)
        case UInt8(ascii: "t"): return Symbol(code: 0x09, width: 2)
        case UInt8(ascii: "u"):
            var code = 0
            for place in 2..<6 {
                guard let digit = try peek(offset + place)?.hexValue else { return nil }
                code = code << 4 | Int(digit)
            }
            return Symbol(code: code, width: 6)
        default: return nil
        }
    }

    /// The names of characters that end a URL, continue a host, or escape a path.
    private static let names: [(name: StaticString, byte: UInt8)] = [
        ("&quot;", UInt8(ascii: "\"")), ("&apos;", UInt8(ascii: "'")), ("&lt;", UInt8(ascii: "<")),
        ("&gt;", UInt8(ascii: ">")), ("&amp;", UInt8(ascii: "&")), ("&nbsp;", UInt8(ascii: " ")),
        ("&period;", UInt8(ascii: ".")), ("&commat;", UInt8(ascii: "@")), ("&colon;", UInt8(ascii: ":")),
        ("&sol;", UInt8(ascii: "/")), ("&bsol;", UInt8(ascii: "\\")), ("&percnt;", UInt8(ascii: "%")),
    ]

    /// The maximum number of digits in a numeric entity: `&#1114111;` is the last character.
    private static let digitLimit = 7

    /// Returns the character of an entity; `nil` if the entity is not relevant. HTML §13.5
    private func entity(_ offset: Int) throws(Incomplete) -> Symbol? {
        guard try peek(offset + 1) == UInt8(ascii: "#") else {
            for (name, byte) in Self.names where try isNext(name, at: offset) {
                return Symbol(code: Int(byte), width: name.utf8CodeUnitCount)
            }
            return nil
        }
        let isHexadecimal = try peek(offset + 2).map { $0 | 0x20 } == UInt8(ascii: "x")
        let start = offset + (isHexadecimal ? 3 : 2)
        var end = start
        var code = 0
        while let digit = try peek(end)?.hexValue, isHexadecimal || digit < 10 {
            guard end - start < Self.digitLimit else { return nil }
            code = code * (isHexadecimal ? 16 : 10) + Int(digit)
            end += 1
        }
        guard end > start else { return nil }
        // Browsers also accept an entity without the semicolon.
        if try peek(end) == UInt8(ascii: ";") { end += 1 }
        return Symbol(code: code, width: end - offset)
    }
}
