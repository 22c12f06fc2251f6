#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Parses `multipart/form-data` as it arrives: RFC 7578 and RFC 2046 §5.1.
///
/// It is stricter than a server must be, because its purpose is to find clients' mistakes: it
/// accepts no preamble, no epilogue except a line end, and no padding after a boundary, and
/// requires at least one part.
struct MultipartParser {
    static let maximumParts = 1_000
    static let maximumHeadBytes = 8 << 10

    enum Event {
        case began(MultipartPartHead)
        case content(ArraySlice<UInt8>)
        case ended
    }

    private enum State {
        /// Before the first delimiter, where no bytes are allowed.
        case preamble
        case behindDelimiter
        case head
        case content
        case epilogue
    }

    private let delimiter: [UInt8]
    private var state = State.preamble
    private var partCount = 0
    // The first delimiter has no line end before it, so this adds one.
    private var pending: [UInt8] = [13, 10]

    /// Creates a parser for the boundary in a `Content-Type`; `nil` if there is no valid boundary.
    init?(contentType: String) {
        guard let type = ParameterizedValue(contentType.utf8), type.value == "multipart/form-data",
            let boundary = type.parameters["boundary"], Self.isAllowed(boundary)
        else { return nil }
        delimiter = Array("\r\n--\(boundary)".utf8)
    }

    /// Consumes bytes and returns the events that they complete.
    ///
    /// - Throws: ``MultipartError``.
    mutating func feed(_ bytes: some Collection<UInt8>) throws -> [Event] {
        pending.append(contentsOf: bytes)
        var events: [Event] = []
        while let event = try next() { events.append(contentsOf: event) }
        return events
    }

    /// Ends the input.
    ///
    /// - Throws: ``MultipartError`` if the form is incomplete.
    func finish() throws {
        guard case .epilogue = state else { throw MultipartError("the body ends before its closing delimiter") }
        guard pending.isEmpty || pending == [13, 10] else {
            throw MultipartError("something follows the closing delimiter")
        }
        guard partCount > 0 else { throw MultipartError("the body has no part") }
    }

    /// Performs one step. Returns `nil` if the step needs more bytes.
    private mutating func next() throws -> [Event]? {
        switch state {
        case .preamble:
            guard pending.count >= delimiter.count else { return nil }
            guard pending.starts(with: delimiter) else {
                throw MultipartError("the body does not begin with its boundary")
            }
            pending.removeFirst(delimiter.count)
            state = .behindDelimiter
            return []
        case .behindDelimiter:
            return try behindDelimiter()
        case .head:
            return try head()
        case .content:
            return content()
        case .epilogue:
            guard pending.count <= 2 else { throw MultipartError("something follows the closing delimiter") }
            return nil
        }
    }

    private mutating func behindDelimiter() throws -> [Event]? {
        guard pending.count >= 2 else { return nil }
        switch (pending[0], pending[1]) {
        case (13, 10):
            partCount += 1
            guard partCount <= Self.maximumParts else {
                throw MultipartError("there are more than \(Self.maximumParts) parts")
            }
            state = .head
        case (UInt8(ascii: "-"), UInt8(ascii: "-")): state = .epilogue
        default: throw MultipartError("neither a line end nor '--' follows a boundary, or a part contains it")
        }
        pending.removeFirst(2)
        return []
    }

    private mutating func head() throws -> [Event]? {
        guard let end = firstIndex(of: [13, 10, 13, 10]) else {
            guard pending.count <= Self.maximumHeadBytes else {
                throw MultipartError("a part's head is longer than \(Self.maximumHeadBytes) bytes")
            }
            return nil
        }
        let head = try MultipartPartHead(pending[..<end])
        pending.removeFirst(end + 4)
        state = .content
        return [.began(head)]
    }

    private mutating func content() -> [Event]? {
        if let end = firstIndex(of: delimiter) {
            let content = pending[..<end]
            pending = Array(pending[(end + delimiter.count)...])
            state = .behindDelimiter
            return content.isEmpty ? [.ended] : [.content(content), .ended]
        }
        // The last bytes may be the beginning of a delimiter.
        let ready = pending.count - (delimiter.count - 1)
        guard ready > 0 else { return nil }
        let content = pending[..<ready]
        pending = Array(pending[ready...])
        return [.content(content)]
    }

    /// Returns the position of a pattern that begins with a line end.
    private func firstIndex(of pattern: [UInt8]) -> Int? {
        pending.withUnsafeBytes { bytes -> Int? in
            guard let base = bytes.baseAddress else { return nil }
            var start = 0
            while start + pattern.count <= bytes.count,
                let found = memchr(base + start, 13, bytes.count - start)
            {
                let index = UnsafeRawPointer(found) - base
                if bytes[index...].starts(with: pattern) { return index }
                start = index + 1
            }
            return nil
        }
    }

    /// Returns whether the boundary has 1 to 70 of the characters that RFC 2046 §5.1.1 allows, and
    /// does not end with a space.
    private static func isAllowed(_ boundary: String) -> Bool {
        let isCharacter: (Character) -> Bool = {
            $0.isASCII && ($0.isLetter || $0.isNumber) || "'()+_,-./:=? ".contains($0)
        }
        return (1...70).contains(boundary.utf8.count) && boundary.allSatisfy(isCharacter) && boundary.last != " "
    }
}
