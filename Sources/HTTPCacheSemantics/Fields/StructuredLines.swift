internal import HTTPTypes
internal import RawStructuredFieldValues

/// Reads a structured field. RFC 9651 §4.2
///
/// All its lines are joined first. If any part cannot be parsed, the whole field is ignored.
enum StructuredLines {
    /// The maximum length of a field in bytes; longer fields count as malformed.
    ///
    /// The parser searches parameters linearly, so its time grows with the square of their number.
    static let maximumLength = 8192

    /// Parses a list. Returns `nil` if the field is absent, malformed or too long; an empty field
    /// is an empty list.
    static func list(_ name: HTTPField.Name, in fields: HTTPFields) -> [ItemOrInnerList]? {
        guard let bytes = bytes(name, in: fields) else { return nil }
        var parser = StructuredFieldValueParser(bytes)
        return try? parser.parseListFieldValue()
    }

    private static func bytes(_ name: HTTPField.Name, in fields: HTTPFields) -> [UInt8]? {
        guard fields.contains(name) else { return nil }
        var result: [UInt8] = []
        var isFirst = true
        for field in fields[fields: name] {
            let isShort = field.withUnsafeBytesOfValue { bytes -> Bool in
                guard result.count + bytes.count + 2 <= maximumLength else { return false }
                if !isFirst { result += [UInt8(ascii: ","), 0x20] }
                result += bytes
                return true
            }
            guard isShort else { return nil }
            isFirst = false
        }
        return result
    }
}

extension HTTPField.Name {
    /// Creates a name from a token. The fallback is never used, because all names here are tokens.
    private init(token: StaticString) { self = HTTPField.Name("\(token)") ?? .accept }

    static let cacheGroups = HTTPField.Name(token: "Cache-Groups")
    static let cacheGroupInvalidation = HTTPField.Name(token: "Cache-Group-Invalidation")
    static let cacheStatus = HTTPField.Name(token: "Cache-Status")
}
