import HTTPCacheSemantics

/// Finds the end of an authority, a path and a URL.
extension URLReader {
    /// Whether a URL in text ends at a character.
    enum End {
        /// The URL may continue with the character.
        case never
        /// The character may be part of a URL, and often follows a URL.
        case maybe
        case always
    }

    /// Whether a URL in text ends at a character at this offset.
    func end(_ offset: Int = 0) throws(Incomplete) -> End {
        guard let symbol = try peekSymbol(offset) else { return .always }
        switch symbol.byte {
        case 0...0x20, 0x7F: return .always
        case UInt8(ascii: "\\"):
            // In a string inside a string, '\\u002e' is a dot, so the host would continue.
            guard symbol.width > 1 else { return .never }
            return try peek(offset + symbol.width) == UInt8(ascii: "u") ? .never : .always
        case _ where #""<>{}|`^"#.utf8.contains(symbol.byte): return .always
        case _ where "'()[],;".utf8.contains(symbol.byte): return .maybe
        default: return .never
        }
    }

    /// Whether an authority ends here.
    ///
    /// In text, a dot at the end of a sentence is not part of the authority, so the URL must end
    /// after the dot. Everywhere else, a dot belongs to the host, and makes it a different host.
    func endsAuthority(behind before: TextBefore) throws(Incomplete) -> Bool {
        guard let symbol = try peekSymbol() else { return true }
        if symbol.endsSegment { return true }
        guard surroundings == .text else { return false }
        guard try peek() == UInt8(ascii: ".") else { return try end() != .never }
        guard before.mayBeInSentence else { return false }
        return try end(1) != .never
    }

    /// Whether the path of an origin ends here, and not within a segment.
    func endsSegment(behind before: TextBefore) throws(Incomplete) -> Bool {
        guard let symbol = try peekSymbol() else { return true }
        if symbol.endsSegment { return true }
        guard surroundings == .text else { return false }
        if symbol.byte == before.closer { return true }
        switch try end() {
        case .always: return true
        case .maybe: return try end(symbol.width) != .never
        case .never: return false
        }
    }

    /// The maximum length of user information that is distinguished from an authority, in bytes.
    private static let userInformationLimit = 256

    /// Whether the bytes before this position are user information instead of a host: an `@`
    /// follows before the authority ends. RFC 3986 §3.2.1
    ///
    /// Quotes and brackets end a URL in text, although user names may contain them.
    func isUserInformation() throws(Incomplete) -> Bool {
        var offset = 0
        while offset < Self.userInformationLimit {
            guard let symbol = try peekSymbol(offset) else { return false }
            if symbol.byte == UInt8(ascii: "@") { return true }
            guard symbol.byte.isNameByte || "!$&*+,;=:%~|".utf8.contains(symbol.byte) else { return false }
            offset += symbol.width
        }
        return false
    }
}

extension URLReader.Symbol {
    /// Whether a path, a query or a fragment begins with the character.
    fileprivate var endsSegment: Bool { "/?#".utf8.contains(byte) }
}
