public import HTTPTypes
internal import RawStructuredFieldValues

extension CachePolicy {
    /// The most groups that are read from one field; the rest is skipped.
    ///
    /// RFC 9875 asks for support of at least 32.
    public static let maximumGroups = 32
    /// The longest name of a group, in characters (all ASCII); longer ones are skipped.
    ///
    /// RFC 9875 asks for support of at least 32.
    public static let maximumGroupLength = 128

    /// The groups that a response belongs to (`Cache-Groups`), each once, in their order. RFC 9875
    /// §2
    ///
    /// Names are compared character by character, within one origin. A field that is not a list of
    /// strings is ignored as a whole; parameters are skipped.
    public func groups(of fields: HTTPFields) -> [String] {
        Self.strings(.cacheGroups, in: fields)
    }

    /// The groups of the target's origin that a response invalidates: `Cache-Group-Invalidation`.
    /// RFC 9875 §3
    ///
    /// Empty if the method is safe. The status does not matter: the origin names the groups
    /// explicitly.
    public func invalidatedGroups(by response: HTTPResponse, to request: HTTPRequest) -> [String] {
        request.method.isKnownToBeSafe ? [] : Self.strings(.cacheGroupInvalidation, in: response.headerFields)
    }

    private static func strings(_ name: HTTPField.Name, in fields: HTTPFields) -> [String] {
        guard let members = StructuredLines.list(name, in: fields) else { return [] }
        var result: [String] = []
        var seen: Set<String> = []
        for member in members {
            guard case .item(let item) = member, case .string(let text) = item.rfc9651BareItem else { return [] }
            guard result.count < maximumGroups, text.utf8.count <= maximumGroupLength else { continue }
            if seen.insert(text).inserted { result.append(text) }
        }
        return result
    }
}

extension HTTPRequest.Method {
    /// Whether the method is safe by RFC 9110 §9.2.1 or RFC 10008. Any other method, an unknown one
    /// included, may have changed the resource. RFC 9111 §4.4
    var isKnownToBeSafe: Bool {
        switch rawValue {
        case "GET", "HEAD", "OPTIONS", "TRACE", "QUERY": true
        default: false
        }
    }
}
