/// Parses common Dictionaries in one pass without allocating. RFC 9651 §4.2.2
extension ResponseDirectives {
    /// Parses a Dictionary whose members have no parameters, and either no value or one of these:
    /// an integer, a boolean, a token, or a string without escapes.
    ///
    /// Returns `nil` for anything else, including malformed Dictionaries; the general parser then
    /// decides.
    init?(simpleDictionary bytes: UnsafeBufferPointer<UInt8>) {
        self.init()
        isTargeted = true
        var scanner = ByteScanner(bytes)
        while scanner.current == 0x20 { scanner.advance() }
        guard !scanner.isAtEnd else { return nil }
        while true {
            guard let key = scanner.dictionaryKey(), let value = scanner.simpleValue() else { return nil }
            addMember(UnsafeBufferPointer(rebasing: bytes[key]), value)
            scanner.skipWhitespace()
            if scanner.isAtEnd { return }
            guard scanner.current == UInt8(ascii: ",") else { return nil }
            scanner.advance()
            scanner.skipWhitespace()
            // A trailing comma is an error.
            guard !scanner.isAtEnd else { return nil }
        }
    }
}

extension ByteScanner {
    /// Reads a Dictionary key: lower-case letters, digits or `_ - . *`, not beginning with a digit,
    /// `_`, `-` or `.`. RFC 9651 §3.1.2
    fileprivate mutating func dictionaryKey() -> Range<Int>? {
        let start = position
        guard let first = current, first.isLowercase || first == UInt8(ascii: "*") else { return nil }
        while let byte = current, byte.isLowercase || byte.isDigit || byte.isKeyMark { advance() }
        return start..<position
    }

    /// Reads the value of a key. Returns `nil` if it is not a simple value.
    fileprivate mutating func simpleValue() -> ResponseDirectives.TargetedValue? {
        guard current == UInt8(ascii: "=") else { return .bool(true) }
        advance()
        guard let first = current else { return nil }
        if first.isDigit { return integer() }
        switch first {
        case UInt8(ascii: "?"):
            advance()
            guard let value = current, value == UInt8(ascii: "0") || value == UInt8(ascii: "1") else { return nil }
            advance()
            return .bool(value == UInt8(ascii: "1"))
        case UInt8(ascii: "\""):
            return string()
        case _ where first.isAlpha || first == UInt8(ascii: "*"):
            while let byte = current, byte.isTokenByte || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "/") {
                advance()
            }
            return .other
        default:
            return nil
        }
    }

    /// Reads up to 15 digits. Stops at the decimal point of a Decimal, which the caller then
    /// rejects. RFC 9651 §3.3.1
    private mutating func integer() -> ResponseDirectives.TargetedValue? {
        let start = position
        var value: Int64 = 0
        while let byte = current, byte.isDigit {
            guard position - start < 15 else { return nil }
            value = value * 10 + Int64(byte &- 0x30)
            advance()
        }
        return .integer(value)
    }

    private mutating func string() -> ResponseDirectives.TargetedValue? {
        advance()
        let start = position
        while let byte = current, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "\\") else { return nil }
            advance()
        }
        guard !isAtEnd else { return nil }
        defer { advance() }
        return .string(UnsafeBufferPointer(rebasing: bytes[start..<position]))
    }
}

extension UInt8 {
    /// `_ - . *`
    fileprivate var isKeyMark: Bool { self == 0x5F || self == 0x2D || self == 0x2E || self == 0x2A }
}
