package import HTTPTypes

/// An entity tag, as bytes. RFC 9110 §8.8.3
package struct EntityTag: Sendable, Hashable {
    var isWeak: Bool
    /// The bytes between the quotes, not unescaped; they may contain `obs-text`.
    var opaque: [UInt8]

    /// The tag in the first `ETag` line; `nil` if it does not have the RFC's form.
    init?(_ fields: HTTPFields) {
        guard let field = fields.first(where: { $0.name.canonicalName == "etag" }) else { return nil }
        let tag = field.withUnsafeBytesOfValue { bytes -> EntityTag? in
            var scanner = ByteScanner(bytes)
            scanner.skipWhitespace()
            guard let tag = EntityTag(&scanner) else { return nil }
            scanner.skipWhitespace()
            return scanner.isAtEnd ? tag : nil
        }
        guard let tag else { return nil }
        self = tag
    }

    private init?(_ scanner: inout ByteScanner) {
        let bytes = scanner.bytes
        var start = scanner.position
        // "W/" is case-sensitive.
        isWeak =
            bytes.count - start >= 2 && bytes[start] == UInt8(ascii: "W") && bytes[start + 1] == UInt8(ascii: "/")
        if isWeak { start += 2 }
        guard start < bytes.count, bytes[start] == UInt8(ascii: "\"") else { return nil }
        var end = start + 1
        // `etagc`: no space, no control, no quote; a backslash is an ordinary byte.
        while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
            guard bytes[end] > 0x20, bytes[end] != 0x7F else { return nil }
            end += 1
        }
        guard end < bytes.count else { return nil }
        opaque = Array(bytes[(start + 1)..<end])
        scanner.position = end + 1
    }

    /// The tags of all `If-None-Match` lines, in order. Members that are not entity tags, `*`
    /// included, are left out. RFC 9110 §13.1.2
    static func list(ifNoneMatch fields: HTTPFields) -> [EntityTag] {
        var tags: [EntityTag] = []
        for field in fields where field.name.canonicalName == "if-none-match" {
            field.withUnsafeBytesOfValue { bytes in
                var scanner = ByteScanner(bytes)
                while true {
                    scanner.skipSeparators()
                    if scanner.isAtEnd { return }
                    if let tag = EntityTag(&scanner) { tags.append(tag) } else { scanner.skipMember() }
                }
            }
        }
        return tags
    }

    /// Whether `If-None-Match` names the strong tag of a response, in that form.
    package static func isNamed(strong response: HTTPFields, inIfNoneMatch request: HTTPFields) -> Bool {
        guard let tag = EntityTag(response), !tag.isWeak else { return false }
        return list(ifNoneMatch: request).contains(tag)
    }

    /// The tag as a field contains it.
    var bytes: [UInt8] { (isWeak ? [0x57, 0x2F, 0x22] : [0x22]) + opaque + [0x22] }

    /// Whether both have the same bytes and neither is weak. RFC 9110 §8.8.3.2
    func stronglyEquals(_ other: EntityTag) -> Bool { !isWeak && !other.isWeak && opaque == other.opaque }

    /// Whether both have the same bytes, weak or not. RFC 9110 §8.8.3.2
    func weaklyEquals(_ other: EntityTag) -> Bool { opaque == other.opaque }

    /// Whether an `If-None-Match` names this tag (weak comparison) or is `*`. RFC 9110 §13.1.2
    ///
    /// Members that are not entity tags are skipped.
    static func matches(_ tag: EntityTag?, ifNoneMatch fields: HTTPFields) -> Bool {
        for field in fields where field.name.canonicalName == "if-none-match" {
            let isMatch = field.withUnsafeBytesOfValue { bytes -> Bool in
                let whole = bytes.trimmed(0..<bytes.count)
                if whole.count == 1, bytes[whole.lowerBound] == UInt8(ascii: "*") { return true }
                guard let tag else { return false }
                var scanner = ByteScanner(bytes)
                while true {
                    scanner.skipSeparators()
                    guard !scanner.isAtEnd else { return false }
                    if let member = EntityTag(&scanner) {
                        if member.weaklyEquals(tag) { return true }
                    } else {
                        scanner.skipMember()
                    }
                }
            }
            if isMatch { return true }
        }
        return false
    }
}
