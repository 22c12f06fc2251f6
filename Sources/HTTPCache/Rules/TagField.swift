import HTTPCacheSemantics
public import HTTPTypes

/// A response field in which an origin lists tags for caches.
///
/// The field is only for this cache: its values become tags of the stored response, and clients do
/// not receive it.
public enum TagField: String, Sendable, Hashable, CaseIterable {
    /// Tags separated by spaces, as Fastly reads them.
    case surrogateKey = "Surrogate-Key"
    /// Tags separated by commas, as Cloudflare reads them. A tag may contain spaces.
    case cacheTag = "Cache-Tag"
    /// Tags separated by spaces or commas, as Varnish reads them.
    case xkey = "xkey"

    /// Returns the field with this name, compared case-insensitively; `nil` for any other name.
    package init?(named name: String) {
        guard let field = Self.allCases.first(where: { $0.rawValue.lowercased() == name.lowercased() }) else {
            return nil
        }
        self = field
    }

    /// The field's name.
    public var name: HTTPField.Name {
        switch self {
        case .surrogateKey: .surrogateKey
        case .cacheTag: .cacheTag
        case .xkey: .xkey
        }
    }

    /// Calls `body` with each tag in the values of this field, in order. Empty members are skipped.
    ///
    /// - Parameter body: returns `false` to stop.
    func forEachTag(in fields: HTTPFields, _ body: (String) -> Bool) {
        for value in fields[values: name] {
            for member in value.utf8.split(whereSeparator: isSeparator) {
                // Only members of `Cache-Tag` can still have surrounding spaces here.
                let tag = String(Substring(member.trimmingWhitespace()))
                guard tag.isEmpty || body(tag) else { return }
            }
        }
    }

    private func isSeparator(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "\t"): self != .cacheTag
        case UInt8(ascii: ","): self != .surrogateKey
        default: false
        }
    }
}

extension [TagField] {
    /// Removes the fields from the head of a response to a client.
    func withhold(from fields: inout HTTPFields) {
        guard contains(where: { fields.contains($0.name) }) else { return }
        for field in self { fields[fields: field.name] = [] }
    }
}

extension HTTPField.Name {
    fileprivate static let surrogateKey = literal("Surrogate-Key")
    fileprivate static let cacheTag = literal("Cache-Tag")
    fileprivate static let xkey = literal("xkey")

    /// Creates a field name from a literal, which must be a token.
    static func literal(_ name: StaticString) -> HTTPField.Name {
        guard let name = HTTPField.Name("\(name)") else { preconditionFailure("'\(name)' is not a field name.") }
        return name
    }
}
