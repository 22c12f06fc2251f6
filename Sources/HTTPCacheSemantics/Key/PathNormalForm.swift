/// The form in which routes and rules compare targets. Forwarding and keys use the target as
/// received.
///
/// Origins accept many spellings of one resource: they often treat `/private/x`, `/%70rivate/x`,
/// `//private/x` and `/private;v=1/x` alike. A rule or a route that compared bytes would match only
/// one spelling. Both sides are therefore compared in this form:
///
/// * Escapes of unreserved characters are decoded, and all other escapes get upper-case digits (RFC
///   3986 §6.2.2). Decoding happens once: `%2570` stays, and so does `%2F`, which is not a
///   separator.
/// * Repeated slashes are merged into one.
/// * Path parameters (`;…` up to the end of the segment) are removed.
///
/// Dot segments are not resolved, because origins resolve them differently. A gateway rejects them
/// if a decision depends on the path; ``hasDotSegment(_:)`` finds them.
package enum PathNormalForm {
    /// Returns the path of a target in normal form.
    ///
    /// - Parameter target: a path, with or without a query. The query is ignored.
    package static func path(_ target: some Collection<UInt8>) -> [UInt8] {
        withBuffer(of: target) { raw in
            var reader = PathReader(raw)
            var result: [UInt8] = []
            result.reserveCapacity(raw.count)
            while let byte = reader.next() { result.append(byte) }
            return result
        }
    }

    /// Returns a query in normal form: only its escapes change.
    package static func query(_ query: some Collection<UInt8>) -> [UInt8] {
        withBuffer(of: query) { raw in
            guard raw.contains(UInt8(ascii: "%")) else { return Array(raw) }
            var reader = EscapeReader(raw)
            var result: [UInt8] = []
            result.reserveCapacity(raw.count)
            while let byte = reader.next() { result.append(byte) }
            return result
        }
    }

    /// Returns the part of a target after a prefix of its path, as received.
    ///
    /// Returns `nil` if the path in normal form does not begin with the prefix, or if the prefix
    /// ends within a segment.
    ///
    /// - Parameters:
    ///   - prefix: a prefix in normal form, without a trailing slash.
    ///   - target: a path, with or without a query.
    /// - Returns: a string that is empty or begins with a slash or a question mark.
    static func rest(of target: String, behind prefix: [UInt8]) -> Substring? {
        let offset = withBuffer(of: target.utf8) { raw -> Int? in
            var reader = PathReader(raw)
            for byte in prefix where reader.next() != byte { return nil }
            return reader.isBetweenSegments() ? reader.offset : nil
        }
        return offset.map { target[target.utf8.index(target.startIndex, offsetBy: $0)...] }
    }

    /// Returns whether an origin may read a segment of the target's path as `.` or `..`.
    ///
    /// This finds such segments in every spelling: escaped one or more times, with path parameters
    /// (`..;x`), and after an escaped slash (`%2f`) or a backslash (`%5c`). Escapes that end a
    /// segment at some origins (`%00`, `%23`, `%3B`, `%3F`) also end it here.
    ///
    /// - Parameter target: a path, with or without a query. The query is ignored.
    package static func hasDotSegment(_ target: String) -> Bool {
        withBuffer(of: target.utf8) { raw in
            let path = UnsafeBufferPointer(rebasing: raw.prefix { $0 != UInt8(ascii: "?") })
            guard path.contains(UInt8(ascii: "%")) else { return hasDotSegment(path) }
            return repeatedlyDecoded(path).withUnsafeBufferPointer { hasDotSegment($0) }
        }
    }

    private static func hasDotSegment(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
        // The number of dots in the segment; `nil` if it contains anything else.
        var dots: Int? = 0
        var isDotSegment: Bool { dots == 1 || dots == 2 }
        for byte in path {
            switch byte {
            case UInt8(ascii: "."): dots = dots.map { $0 + 1 }
            case UInt8(ascii: "/"), UInt8(ascii: "\\"):
                if isDotSegment { return true }
                dots = 0
            case UInt8(ascii: ";"), UInt8(ascii: "?"), UInt8(ascii: "#"), 0:
                if isDotSegment { return true }
                dots = nil
            default: dots = nil
            }
        }
        return isDotSegment
    }

    /// Decodes a path until no escapes are left: `%2e`, `%252e` and `%25%32%65` all become a dot.
    ///
    /// An escape is decoded as soon as it is complete, which may complete another escape. Dots and
    /// slashes are not hexadecimal digits, so repeated decoding never hides them.
    private static func repeatedlyDecoded(_ path: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(path.count)
        for byte in path {
            decoded.append(byte)
            while decoded.count > 2, decoded[decoded.count - 3] == UInt8(ascii: "%"),
                let high = decoded[decoded.count - 2].hexValue, let low = decoded[decoded.count - 1].hexValue
            {
                decoded.removeLast(3)
                decoded.append(high << 4 | low)
            }
        }
        return decoded
    }

    private static func withBuffer<Result>(
        of bytes: some Collection<UInt8>,
        _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        if let result = bytes.withContiguousStorageIfAvailable(body) { return result }
        return Array(bytes).withUnsafeBufferPointer(body)
    }
}

/// Reads bytes with the escapes in normal form. RFC 3986 §6.2.2.1, §6.2.2.2
private struct EscapeReader {
    let raw: UnsafeBufferPointer<UInt8>
    /// The offset of the next byte.
    var offset = 0
    /// The digits of an escape that were not read yet.
    private var digits = 0

    init(_ raw: UnsafeBufferPointer<UInt8>) {
        self.raw = raw
    }

    mutating func next() -> UInt8? {
        guard offset < raw.count else { return nil }
        let byte = raw[offset]
        if digits > 0 {
            digits -= 1
            offset += 1
            return byte.isDigit ? byte : byte & 0xDF
        }
        guard byte == UInt8(ascii: "%"), raw.count - offset > 2,
            let high = raw[offset + 1].hexValue, let low = raw[offset + 2].hexValue
        else {
            offset += 1
            return byte
        }
        let decoded = high << 4 | low
        if decoded.isUnreserved {
            offset += 3
            return decoded
        }
        digits = 2
        offset += 1
        return byte
    }
}

/// Reads a path in normal form and tracks its position in the received path.
private struct PathReader {
    private var escapes: EscapeReader
    private var isBehindSlash = false

    init(_ raw: UnsafeBufferPointer<UInt8>) {
        escapes = EscapeReader(raw)
    }

    /// The offset of the next significant byte, or of the path's end, after ``settle()``.
    var offset: Int { escapes.offset }

    /// Skips bytes that the normal form removes. Returns the next significant byte without reading
    /// it.
    private mutating func settle() -> UInt8? {
        let raw = escapes.raw
        while escapes.offset < raw.count {
            switch raw[escapes.offset] {
            case UInt8(ascii: "?"): return nil
            case UInt8(ascii: "/"):
                guard isBehindSlash else { return UInt8(ascii: "/") }
                escapes.offset += 1
            case UInt8(ascii: ";"):
                while escapes.offset < raw.count, raw[escapes.offset] != UInt8(ascii: "/"),
                    raw[escapes.offset] != UInt8(ascii: "?")
                {
                    escapes.offset += 1
                }
            case let byte: return byte
            }
        }
        return nil
    }

    mutating func next() -> UInt8? {
        guard let byte = settle() else { return nil }
        isBehindSlash = byte == UInt8(ascii: "/")
        return escapes.next()
    }

    /// Returns whether a segment or the path ends here.
    mutating func isBetweenSegments() -> Bool {
        let byte = settle()
        return byte == nil || byte == UInt8(ascii: "/")
    }
}
