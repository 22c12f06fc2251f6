internal import HTTPTypes

/// How a request field is compared when `Vary` names it. RFC 9111 §4.1
///
/// All lines of a name are joined in order; whitespace around commas goes; empty members go. Case is kept but for
/// `Accept-Encoding`, `Accept-Language` and `Accept-Charset`, whose members are case-insensitive and whose order means nothing (RFC 9110 §12.5.3, §12.5.4:
/// preference is told by weights), so they are also put in order. Nothing inside a quoted-string changes, and `Cookie` not at all.
enum SelectingField {
    /// `nil` where the request has no such field; an empty one is something else.
    static func normalized(_ canonicalName: String, in fields: HTTPFields) -> [UInt8]? {
        var members: [ArraySlice<UInt8>] = []
        var isPresent = false
        let isCookie = canonicalName == "cookie"
        for field in fields where field.name.canonicalName == canonicalName {
            isPresent = true
            field.withUnsafeBytesOfValue { octets in
                if isCookie {
                    members.append(Array(octets)[...])
                } else {
                    split(octets, into: &members)
                }
            }
        }
        guard isPresent else { return nil }
        switch canonicalName {
        case "accept-encoding", "accept-language", "accept-charset":
            members = members.map { ArraySlice($0.compactMap { $0.isWhitespace ? nil : $0.asciiLowercased }) }
            members.sort { $0.lexicographicallyPrecedes($1) }
        default:
            break
        }
        return Array(members.joined(separator: isCookie ? [0x3B, 0x20] : [0x2C, 0x20]))
    }

    private static func split(_ octets: UnsafeBufferPointer<UInt8>, into members: inout [ArraySlice<UInt8>]) {
        var scanner = OctetScanner(octets)
        while true {
            scanner.skipSeparators()
            if scanner.isAtEnd { return }
            let start = scanner.position
            scanner.skipMember()
            members.append(Array(octets[octets.trimmed(start..<scanner.position)])[...])
        }
    }

    /// Whether both have one line of the field, octet by octet the same, or neither has any: the usual case, decided without allocation.
    ///
    /// `false` decides nothing. The name is compared without regard to case.
    static func areSameLines(
        _ name: UnsafeBufferPointer<UInt8>,
        _ stored: HTTPFields,
        _ presented: HTTPFields
    ) -> Bool {
        guard let left = line(name, stored), let right = line(name, presented) else { return false }
        switch (left, right) {
        case (.none, .none): return true
        case (.some(let left), .some(let right)):
            return left.withUnsafeBytesOfValue { first in
                right.withUnsafeBytesOfValue { second in first.equals(second) }
            }
        default: return false
        }
    }

    /// `nil` where there are several lines.
    private static func line(_ name: UnsafeBufferPointer<UInt8>, _ fields: HTTPFields) -> HTTPField?? {
        var found: HTTPField?
        for field in fields {
            var other = field.name.canonicalName
            guard other.utf8.count == name.count, other.withUTF8({ $0.equalsLowercased(name) }) else { continue }
            if found != nil { return nil }
            found = field
        }
        return .some(found)
    }

    /// Whether both have the field, with values that mean the same, or neither has it.
    static func matches(_ canonicalName: String, _ stored: HTTPFields, _ presented: HTTPFields) -> Bool {
        normalized(canonicalName, in: stored) == normalized(canonicalName, in: presented)
    }
}
