/// A cursor over a field value's bytes, shared by the list parsers.
///
/// It allocates nothing.
struct ByteScanner {
    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    var isAtEnd: Bool { position >= bytes.count }
    var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func advance() { position += 1 }

    mutating func skipWhitespace() {
        while position < bytes.count, bytes[position].isWhitespace { position += 1 }
    }

    /// Skips whitespace and empty list members, which RFC 9110 §5.6.1.2 tells recipients to ignore.
    mutating func skipSeparators() {
        while position < bytes.count, bytes[position].isWhitespace || bytes[position] == UInt8(ascii: ",") {
            position += 1
        }
    }

    /// Reads the token that begins here; empty if there is none.
    mutating func token() -> Range<Int> {
        let start = position
        while position < bytes.count, bytes[position].isTokenByte { position += 1 }
        return start..<position
    }

    /// Reads the quoted-string that begins here and returns its content, escapes included. The
    /// cursor then stands behind the closing quote.
    ///
    /// An unclosed one ends at the end of the line, so that nothing inside a quote is ever read as
    /// a directive.
    mutating func quotedString() -> Range<Int> {
        position += 1
        let start = position
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                defer { position += 1 }
                return start..<position
            case UInt8(ascii: "\\"):
                position = min(position + 2, bytes.count)
            default:
                position += 1
            }
        }
        return start..<bytes.count
    }

    /// Moves to the next comma outside quotes, or to the end.
    mutating func skipMember() {
        while position < bytes.count, bytes[position] != UInt8(ascii: ",") {
            if bytes[position] == UInt8(ascii: "\"") {
                _ = quotedString()
            } else {
                position += 1
            }
        }
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Compares without regard to ASCII case; `lowercase` must be in lower case.
    func equals(_ lowercase: StaticString, in range: Range<Int>) -> Bool {
        guard range.count == lowercase.utf8CodeUnitCount else { return false }
        let other = lowercase.utf8Start
        for offset in 0..<range.count where self[range.lowerBound + offset].asciiLowercased != other[offset] {
            return false
        }
        return true
    }

    /// The range's bytes in lower case. (Decoding a lazily mapped slice is ten times slower.)
    func lowercased(_ range: Range<Int>) -> String {
        String(unsafeUninitializedCapacity: range.count) { buffer in
            for offset in 0..<range.count { buffer[offset] = self[range.lowerBound + offset].asciiLowercased }
            return range.count
        }
    }

    /// Whether both hold the same bytes.
    func equals(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for index in 0..<count where self[index] != other[index] { return false }
        return true
    }

    /// Compares these bytes, which are in lower case, with others in any case.
    func equalsLowercased(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for index in 0..<count where self[index] != other[index].asciiLowercased { return false }
        return true
    }

    /// The range without whitespace at its ends.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var lower = range.lowerBound
        var upper = range.upperBound
        while lower < upper, self[lower].isWhitespace { lower += 1 }
        while lower < upper, self[upper - 1].isWhitespace { upper -= 1 }
        return lower..<upper
    }
}
