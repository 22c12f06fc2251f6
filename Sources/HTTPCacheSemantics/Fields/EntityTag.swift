package import HTTPTypes

/// An entity tag, as bytes. RFC 9110 §8.8.3
package struct EntityTag: Sendable, Hashable {
    var isWeak: Bool
    /// The bytes between the quotes. Backslashes are not escapes, and the bytes may include
    /// `obs-text`.
    var opaque: [UInt8]

    /// Reads the tag in the first `ETag` line. Returns `nil` if its syntax is invalid.
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
        // `etagc` excludes spaces, controls and quotes; a backslash is an ordinary byte.
        while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
            guard bytes[end] > 0x20, bytes[end] != 0x7F else { return nil }
            end += 1
        }
        guard end < bytes.count else { return nil }
        opaque = Array(bytes[(start + 1)..<end])
        scanner.position = end + 1
    }

    /// Returns the tags in all `If-None-Match` lines, in order. Members that are not entity tags,
    /// including `*`, are skipped. RFC 9110 §13.1.2
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

    /// Returns whether the response has a strong tag and `If-None-Match` contains that strong tag.
    package static func isNamed(strong response: HTTPFields, inIfNoneMatch request: HTTPFields) -> Bool {
        guard let tag = EntityTag(response), !tag.isWeak else { return false }
        return list(ifNoneMatch: request).contains(tag)
    }

    /// The tag as written in a field.
    var bytes: [UInt8] { (isWeak ? [0x57, 0x2F, 0x22] : [0x22]) + opaque + [0x22] }

    /// Returns whether both tags have the same bytes and neither is weak. RFC 9110 §8.8.3.2
    func stronglyEquals(_ other: EntityTag) -> Bool { !isWeak && !other.isWeak && opaque == other.opaque }

    /// Returns whether both tags have the same bytes, weak or not. RFC 9110 §8.8.3.2
    func weaklyEquals(_ other: EntityTag) -> Bool { opaque == other.opaque }

    /// Returns whether `If-None-Match` contains this tag (by weak comparison) or is `*`. RFC 9110
    /// §13.1.2
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
