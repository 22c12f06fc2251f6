package import HTTPTypes
internal import RawStructuredFieldValues

extension CachePolicy {
    /// The maximum number of groups read from one field. Additional groups are skipped.
    ///
    /// RFC 9875 requires support for at least 32.
    package static let maximumGroups = 32
    /// The maximum length of a group name, in characters (all ASCII); longer names are skipped.
    ///
    /// RFC 9875 requires support for at least 32.
    package static let maximumGroupLength = 128

    /// Returns the groups of a response (`Cache-Groups`) in order, without duplicates. RFC 9875 §2
    ///
    /// Names are compared character by character, within one origin. A field that is not a list of
    /// strings is ignored completely; parameters are skipped.
    package func groups(of fields: HTTPFields) -> [String] {
        Self.strings(.cacheGroups, in: fields)
    }

    /// Returns the groups of the target's origin that a response invalidates
    /// (`Cache-Group-Invalidation`). RFC 9875 §3
    ///
    /// The result is empty if the method is safe. The status does not matter, because the origin
    /// names the groups explicitly.
    package func invalidatedGroups(by response: HTTPResponse, to request: HTTPRequest) -> [String] {
        request.method.isSafe ? [] : Self.strings(.cacheGroupInvalidation, in: response.headerFields)
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
