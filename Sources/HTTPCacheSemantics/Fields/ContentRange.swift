package import HTTPTypes

/// The `Content-Range` of a part: the bytes of the representation that a 206 contains. RFC 9110
/// §14.4
///
/// ```swift
/// ContentRange(range: 0..<500, completeLength: 1234).fieldValue  // "bytes 0-499/1234"
/// ```
package struct ContentRange: Sendable, Hashable {
    /// The offsets of the bytes in the representation, as stated by a peer. A parsed range is never
    /// empty.
    package var range: Range<StatedLength>
    /// The representation's length in bytes; `nil` if it is unknown (`*`).
    package var completeLength: StatedLength?

    /// Creates a range without checking anything.
    package init(range: Range<StatedLength>, completeLength: StatedLength?) {
        self.range = range
        self.completeLength = completeLength
    }

    /// Reads the range of a part. Returns `nil` if there is no valid range.
    ///
    /// The field must be one line with the unit `bytes`. Its first byte must not be after its last
    /// byte, the last byte must be within the complete length, and numbers must fit `Int64`. A
    /// 416's `*/length` describes no part: see ``unsatisfiedLength(_:)``.
    package init?(_ fields: HTTPFields) {
        let parsed = Self.withOnlyLine(of: fields) { scanner -> ContentRange? in
            guard let first = scanner.exactNumber(), scanner.current == UInt8(ascii: "-") else { return nil }
            scanner.advance()
            guard let last = scanner.exactNumber(), first <= last, let end = last.adding(1),
                scanner.current == UInt8(ascii: "/")
            else { return nil }
            scanner.advance()
            if scanner.current == UInt8(ascii: "*") {
                scanner.advance()
                return ContentRange(range: first..<end, completeLength: nil)
            }
            guard let length = scanner.exactNumber(), last < length else { return nil }
            return ContentRange(range: first..<end, completeLength: length)
        }
        guard let parsed else { return nil }
        self = parsed
    }

    /// Returns the representation's length as a 416 states it (`bytes */1234`), or `nil` if it is
    /// absent or invalid. RFC 9110 §15.5.17
    package static func unsatisfiedLength(_ fields: HTTPFields) -> StatedLength? {
        withOnlyLine(of: fields) { scanner -> StatedLength? in
            guard scanner.current == UInt8(ascii: "*") else { return nil }
            scanner.advance()
            guard scanner.current == UInt8(ascii: "/") else { return nil }
            scanner.advance()
            return scanner.exactNumber()
        }
    }

    /// The field's value: `bytes 0-499/1234`, or `bytes 0-499/*`.
    package var fieldValue: String {
        "bytes \(range.lowerBound)-\(last)/\(completeLength.map(\.description) ?? "*")"
    }

    /// The value of the `Range` that requests this part: `bytes=0-499`.
    package var requestValue: String { "bytes=\(range.lowerBound)-\(last)" }

    /// The offset of the last byte.
    private var last: StatedLength { range.upperBound.subtracting(1) ?? 0 }

    /// Returns the value for a 416: `bytes */1234`.
    package static func unsatisfied(completeLength: StatedLength) -> String { "bytes */\(completeLength)" }

    /// Reads the text after `bytes ` in the only line. Returns `nil` if there is no such line, if
    /// `body` returns `nil`, or if `body` leaves unread bytes.
    private static func withOnlyLine<Result>(
        of fields: HTTPFields,
        _ body: (inout ByteScanner) -> Result?
    ) -> Result? {
        guard fields.contains(.contentRange) else { return nil }
        var lines = fields[fields: .contentRange].makeIterator()
        guard let line = lines.next(), lines.next() == nil else { return nil }
        return line.withUnsafeBytesOfValue { bytes in
            let range = bytes.trimmed(0..<bytes.count)
            var scanner = ByteScanner(UnsafeBufferPointer(rebasing: bytes[range]))
            guard scanner.bytes.equals("bytes", in: scanner.token()), scanner.current == 0x20 else { return nil }
            scanner.advance()
            guard let result = body(&scanner), scanner.isAtEnd else { return nil }
            return result
        }
    }
}
