internal import HTTPTypes
internal import RawStructuredFieldValues

/// A field read as structured. RFC 9651 §4.2
///
/// All its lines are joined first; one that cannot be parsed, whatever small part of it, is ignored
/// as a whole.
enum StructuredLines {
    /// Longer fields count as malformed.
    ///
    /// The parser looks its parameters up one after the other, so that the time it takes grows with
    /// the square of their number.
    static let maximumLength = 8192

    /// `nil` where the field is absent, malformed or too long; an empty one is an empty list.
    static func list(_ name: HTTPField.Name, in fields: HTTPFields) -> [ItemOrInnerList]? {
        guard let bytes = bytes(name, in: fields) else { return nil }
        var parser = StructuredFieldValueParser(bytes)
        return try? parser.parseListFieldValue()
    }

    /// `nil` where the field is absent, malformed or too long.
    static func dictionary(
        _ name: HTTPField.Name,
        in fields: HTTPFields
    ) -> OrderedMap<String, ItemOrInnerList>? {
        guard let bytes = bytes(name, in: fields) else { return nil }
        var parser = StructuredFieldValueParser(bytes)
        return try? parser.parseDictionaryFieldValue()
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
    /// The fallback is for names that are no token, and these are.
    private init(token: StaticString) { self = HTTPField.Name("\(token)") ?? .accept }

    static let cacheGroups = HTTPField.Name(token: "Cache-Groups")
    static let cacheGroupInvalidation = HTTPField.Name(token: "Cache-Group-Invalidation")
    static let cacheStatus = HTTPField.Name(token: "Cache-Status")
    static let noVarySearch = HTTPField.Name(token: "No-Vary-Search")
}
