import CacheRules
import HTTPCacheSemantics

/// Rejects files on which the YAML parser itself could spend exponential time following aliases.
///
/// The parser compares the keys of a mapping, and a key may be a list of aliases to lists of
/// aliases. Aliases as values are harmless, because ``Document`` follows and counts them. A file
/// may therefore contain aliases or keys that are not strings, but not both. No configuration needs
/// such keys.
enum AliasScan {
    static func check(_ yaml: String) throws(Refusal) {
        var text = yaml
        let found = text.withUTF8 { scan($0) }
        if found.alias, let line = found.key {
            throw Refusal("In a file with aliases, a key must be plain text, not a list or a mapping.", line: line)
        }
    }

    /// Returns whether there may be an alias, and the line of a possible key that is not a string.
    /// Strings and comments can look like an alias or such a key, so false positives are possible.
    /// False negatives are not.
    private static func scan(_ bytes: UnsafeBufferPointer<UInt8>) -> (alias: Bool, key: Int?) {
        var line = 1
        var hasAlias = false
        var key: Int?
        var before = UInt8(ascii: "\n")
        // The last byte that is not a space.
        var significant = before
        // The positions of the last opening bracket and brace, and whether the last bracketed text
        // could be an IPv6 address, and the last text in braces a reference such as `${HOST}`.
        var opening = -1
        var brace = -1
        var wasAddress = false
        var wasReference = false
        for index in bytes.indices {
            let byte = bytes[index]
            let next = index + 1 < bytes.count ? bytes[index + 1] : UInt8(ascii: "\n")
            switch byte {
            case UInt8(ascii: "*"):
                guard mayBegin(after: before), isName(next) else { break }
                hasAlias = true
                var end = index + 1
                while end < bytes.count, isName(bytes[end]) { end += 1 }
                while end < bytes.count, isSpace(bytes[end]) { end += 1 }
                if key == nil, end < bytes.count, bytes[end] == UInt8(ascii: ":") { key = line }
            case UInt8(ascii: "?"):
                if key == nil, mayBegin(after: before) { key = line }
            case UInt8(ascii: ":"):
                let endsList = significant == UInt8(ascii: "]") && !wasAddress
                let endsMapping = significant == UInt8(ascii: "}") && !wasReference
                if key == nil, endsList || endsMapping { key = line }
            case UInt8(ascii: "["): opening = index
            case UInt8(ascii: "]"):
                wasAddress = bytes[(opening + 1)..<max(opening + 1, index)].allSatisfy(isAddressByte)
            case UInt8(ascii: "{"): brace = index
            case UInt8(ascii: "}"):
                // Names have no stars, so there is no alias between these braces.
                wasReference =
                    brace > 0 && bytes[brace - 1] == UInt8(ascii: "$")
                    && bytes[(brace + 1)..<max(brace + 1, index)].allSatisfy(isName)
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): line += byte == UInt8(ascii: "\n") ? 1 : 0
            default: break
            }
            before = byte
            if !isSpace(byte) { significant = byte }
        }
        return (hasAlias, key)
    }

    /// Returns whether a token may begin here: at the start of a line, after a space, or after
    /// another token. Letters, digits and these characters are part of a word, so no token begins
    /// after them.
    private static func mayBegin(after byte: UInt8) -> Bool {
        !byte.isAlphanumeric && !"./*_=".utf8.contains(byte)
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte.isWhitespace || byte == 0x0A || byte == 0x0D
    }

    /// Returns whether an IPv6 address may contain the byte: a hexadecimal digit, a colon or a
    /// period. The brackets in `https://[::1]:8080/` do not enclose a key.
    private static func isAddressByte(_ byte: UInt8) -> Bool {
        byte.isHexDigit || byte == UInt8(ascii: ":") || byte == UInt8(ascii: ".")
    }

    /// Returns whether an anchor's name may contain the byte.
    private static func isName(_ byte: UInt8) -> Bool {
        byte.isAlphanumeric || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }
}
