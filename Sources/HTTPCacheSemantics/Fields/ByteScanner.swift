/// A cursor over the bytes of a field value, shared by the list parsers. It never allocates.
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

    /// Skips whitespace and empty list members, which recipients must ignore. RFC 9110 §5.6.1.2
    mutating func skipSeparators() {
        while position < bytes.count, bytes[position].isWhitespace || bytes[position] == UInt8(ascii: ",") {
            position += 1
        }
    }

    /// Reads the token at the cursor. Returns an empty range if there is none.
    mutating func token() -> Range<Int> {
        let start = position
        while position < bytes.count, bytes[position].isTokenByte { position += 1 }
        return start..<position
    }

    /// Reads the quoted-string at the cursor and returns its content, escapes included. The cursor
    /// ends up after the closing quote.
    ///
    /// An unclosed string extends to the end of the line, so text inside quotes is never read as a
    /// directive.
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

    /// Moves to the next comma outside quotes, or to the end of the value.
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
    /// Compares ASCII case-insensitively. `lowercase` must be in lower case.
    func equals(_ lowercase: StaticString, in range: Range<Int>) -> Bool {
        guard range.count == lowercase.utf8CodeUnitCount else { return false }
        let other = lowercase.utf8Start
        for offset in 0..<range.count where self[range.lowerBound + offset].asciiLowercased != other[offset] {
            return false
        }
        return true
    }

    /// Returns the bytes of the range in lower case. (Decoding a lazily mapped slice is ten times
    /// slower.)
    func lowercased(_ range: Range<Int>) -> String {
        String(unsafeUninitializedCapacity: range.count) { buffer in
            for offset in 0..<range.count { buffer[offset] = self[range.lowerBound + offset].asciiLowercased }
            return range.count
        }
    }

    /// Returns whether both buffers hold the same bytes.
    func equals(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for index in 0..<count where self[index] != other[index] { return false }
        return true
    }

    /// Compares these lower-case bytes case-insensitively with other bytes.
    func equalsLowercased(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for index in 0..<count where self[index] != other[index].asciiLowercased { return false }
        return true
    }

    /// Returns the range without leading and trailing whitespace.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var lower = range.lowerBound
        var upper = range.upperBound
        while lower < upper, self[lower].isWhitespace { lower += 1 }
        while lower < upper, self[upper - 1].isWhitespace { upper -= 1 }
        return lower..<upper
    }
}
