/// The form in which routes and rules compare targets. What is forwarded and keyed stays as it
/// came.
///
/// Origins read one resource in many spellings: `/private/x`, `/%70rivate/x`, `//private/x` and
/// `/private;v=1/x` are often the same to them. A rule or a route that compared bytes would hold
/// for one spelling alone. So both sides are compared in this form:
///
/// * escapes of unreserved characters are decoded, and the others have upper-case digits (RFC 3986
///   §6.2.2). They are decoded once: `%2570` stays, and so does `%2F`, which is no separator.
/// * repeated slashes count as one;
/// * path parameters (`;…` up to the end of the segment) do not count.
///
/// Dot segments are not resolved, because origins differ in how they do that. A gateway refuses
/// them where a path decides something; ``hasDotSegment(_:)`` finds them.
package enum PathNormalForm {
    /// The path of a target in normal form.
    ///
    /// - Parameter target: a path, with or without a query, which is left out.
    package static func path(_ target: some Collection<UInt8>) -> [UInt8] {
        withBuffer(of: target) { raw in
            var reader = PathReader(raw)
            var result: [UInt8] = []
            result.reserveCapacity(raw.count)
            while let byte = reader.next() { result.append(byte) }
            return result
        }
    }

    /// A query in normal form: its escapes alone.
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

    /// What follows a prefix of a target's path, as it came; `nil` where the path in normal form
    /// does not begin with it, or goes on within a segment.
    ///
    /// - Parameters:
    ///   - prefix: in normal form; without a slash at its end.
    ///   - target: a path, with or without a query.
    /// - Returns: empty, or begins with a slash or a question mark.
    static func rest(of target: String, behind prefix: [UInt8]) -> Substring? {
        let offset = withBuffer(of: target.utf8) { raw -> Int? in
            var reader = PathReader(raw)
            for byte in prefix where reader.next() != byte { return nil }
            return reader.isBetweenSegments() ? reader.offset : nil
        }
        return offset.map { target[target.utf8.index(target.startIndex, offsetBy: $0)...] }
    }

    /// Whether some origin may read a segment of the target's path as `.` or `..`.
    ///
    /// Such segments are found however they are written: escaped, escaped several times, with path
    /// parameters (`..;x`), behind an escaped slash (`%2f`) or a backslash (`%5c`). An escape that
    /// cuts a segment in some origins (`%00`, `%23`, `%3B`, `%3F`) ends one here, too.
    ///
    /// - Parameter target: a path, with or without a query, which is not looked at.
    package static func hasDotSegment(_ target: String) -> Bool {
        withBuffer(of: target.utf8) { raw in
            let path = UnsafeBufferPointer(rebasing: raw.prefix { $0 != UInt8(ascii: "?") })
            guard path.contains(UInt8(ascii: "%")) else { return hasDotSegment(path) }
            return repeatedlyDecoded(path).withUnsafeBufferPointer { hasDotSegment($0) }
        }
    }

    private static func hasDotSegment(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
        // How many dots the segment consists of; `nil` where there is something else in it.
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

    /// What is left of a path however often it is decoded: `%2e`, `%252e`, `%25%32%65` are a dot.
    ///
    /// An escape is decoded as soon as it is there, and may complete another. No dot and no slash
    /// is a digit, so none is lost that decoding less often would show.
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
    /// Of the next byte.
    var offset = 0
    /// Digits of an escape that are still to be read.
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

/// Reads a path in normal form, and knows where it is in the path as it came.
private struct PathReader {
    private var escapes: EscapeReader
    private var isBehindSlash = false

    init(_ raw: UnsafeBufferPointer<UInt8>) {
        escapes = EscapeReader(raw)
    }

    /// Of the next byte that counts, or of the path's end, once ``settle()`` was called.
    var offset: Int { escapes.offset }

    /// Skips what does not count; answers with the next byte that does, and does not read it.
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

    /// Whether a segment, or the path, ends here.
    mutating func isBetweenSegments() -> Bool {
        let byte = settle()
        return byte == nil || byte == UInt8(ascii: "/")
    }
}
