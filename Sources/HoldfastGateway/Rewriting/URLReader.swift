/// Reads a URL in a text whose next piece may not have come yet.
struct URLReader {
    /// The end of the piece was reached, and the text may go on.
    struct Incomplete: Error {}

    /// The text around a URL.
    enum Surroundings {
        /// HTML, JSON or other text. JSON may write a slash as `\/`.
        case text
        /// The URL is the whole of it, as in a field.
        case nothing
    }

    /// How the slashes of a URL are written.
    enum Slash {
        case plain
        /// `\/`
        case escaped
    }

    /// The path of a URL, without the backslashes of its slashes.
    struct Path {
        var bytes: [UInt8] = []
        /// The index behind each byte of ``bytes`` in the text.
        var ends: [Int] = []
    }

    let bytes: UnsafeRawBufferPointer
    var index: Int
    /// Whether the text ends with these bytes.
    let isLast: Bool
    let surroundings: Surroundings

    /// A byte from here on; `nil` at the end of the text.
    func peek(_ offset: Int = 0) throws(Incomplete) -> UInt8? {
        if index + offset < bytes.count { return bytes[index + offset] }
        if isLast { return nil }
        throw Incomplete()
    }

    /// Whether a word in lower case is next, without regard to case.
    private func isNext(_ word: StaticString) throws(Incomplete) -> Bool {
        for offset in 0..<word.utf8CodeUnitCount {
            guard try peek(offset)?.lowercase == word.utf8Start[offset] else { return false }
        }
        return true
    }

    /// Reads `http:` or `https:`.
    ///
    /// - Returns: whether it is `https`; `nil` if there is neither.
    mutating func readScheme() throws(Incomplete) -> Bool? {
        guard try isNext("http") else { return nil }
        index += 4
        let isSecure = try peek()?.lowercase == UInt8(ascii: "s")
        if isSecure { index += 1 }
        guard try peek() == UInt8(ascii: ":") else { return nil }
        index += 1
        return isSecure
    }

    /// - Returns: `nil` if there is no slash.
    mutating func readSlash() throws(Incomplete) -> Slash? {
        switch try peek() {
        case UInt8(ascii: "/"):
            index += 1
            return .plain
        case UInt8(ascii: "\\") where surroundings == .text:
            guard try peek(1) == UInt8(ascii: "/") else { return nil }
            index += 2
            return .escaped
        default: return nil
        }
    }

    /// Reads a host.
    ///
    /// - Parameter limit: the longest host of interest, in bytes.
    /// - Returns: the host in lower case; `nil` if there is none, or a longer one.
    mutating func readHost(upTo limit: Int) throws(Incomplete) -> String? {
        var host: [UInt8] = []
        let isBracketed = try peek() == UInt8(ascii: "[")
        while let byte = try peek(), byte.isHostByte || isBracketed && "[]:".utf8.contains(byte) {
            guard host.count < limit else { return nil }
            host.append(byte.lowercase)
            index += 1
            if byte == UInt8(ascii: "]") { break }
        }
        return host.isEmpty ? nil : String(decoding: host, as: UTF8.self)
    }

    /// Reads a port with its colon, if one is there.
    ///
    /// - Parameter standard: the port if there is none.
    /// - Returns: `nil` if it is not a port.
    mutating func readPort(_ standard: UInt16) throws(Incomplete) -> UInt16? {
        guard try peek() == UInt8(ascii: ":") else { return standard }
        index += 1
        var port = 0
        var count = 0
        while let byte = try peek(), byte.isDigit {
            guard count < 5 else { return nil }
            port = port * 10 + Int(byte - UInt8(ascii: "0"))
            count += 1
            index += 1
        }
        return count > 0 ? UInt16(exactly: port) : nil
    }

    /// Reads a path, as far as it is of interest.
    ///
    /// - Parameter limit: the most bytes of interest.
    mutating func readPath(upTo limit: Int) throws(Incomplete) -> Path {
        var path = Path()
        while path.bytes.count < limit, let byte = try peek() {
            switch byte {
            case 0...0x20, 0x7F, UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "?"),
                UInt8(ascii: "#"):
                return path
            case UInt8(ascii: "/"), UInt8(ascii: "\\"):
                guard try readSlash() != nil else { return path }
                path.bytes.append(UInt8(ascii: "/"))
            default:
                path.bytes.append(byte)
                index += 1
            }
            path.ends.append(index)
        }
        return path
    }

    /// The start of the path that begins here, which is not read.
    ///
    /// - Parameter limit: the most bytes of interest.
    func peekPath(upTo limit: Int) throws(Incomplete) -> [UInt8] {
        guard limit > 0 else { return [] }
        var reader = self
        return try reader.readPath(upTo: limit).bytes
    }

    /// The longest user information that is told from an authority, in bytes.
    private static let userInformationLimit = 256

    /// Whether the bytes before this place are a user's name and not a host: an `@` follows before
    /// the authority ends. RFC 3986 §3.2.1
    ///
    /// Quotes and brackets end a URL in text, although a name may have them.
    func isUserInformation() throws(Incomplete) -> Bool {
        for offset in 0..<Self.userInformationLimit {
            guard let byte = try peek(offset) else { return false }
            if byte == UInt8(ascii: "@") { return true }
            guard byte.isHostByte || "!$&*+,;=:%~|".utf8.contains(byte) else { return false }
        }
        return false
    }

    /// Quotes and angle brackets, as HTML writes them.
    private static let entities: [StaticString] = ["&quot;", "&apos;", "&#34;", "&#39;", "&lt;", "&gt;"]

    /// Whether an authority or a segment of a path ends here. In text it ends at each byte that no
    /// host has and that commonly follows a URL.
    func isBoundary() throws(Incomplete) -> Bool {
        guard let byte = try peek() else { return true }
        switch byte {
        case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): return true
        case _ where surroundings == .nothing: return false
        case 0...0x20, 0x7F: return true
        case UInt8(ascii: "\\"):
            // '\u002e' is a dot: the host would go on.
            guard let escaped = try peek(1) else { return false }
            return #"/"'\bfnrt"#.utf8.contains(escaped)
        case UInt8(ascii: "&"):
            // '&#46;' is a dot, and so on.
            for end in Self.entities where try isNext(end) { return true }
            return false
        default: return #""'<>()[]{},;|`^"#.utf8.contains(byte)
        }
    }
}

extension UInt8 {
    fileprivate var lowercase: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }
}
