package import HTTPTypes

extension HTTPField.Name {
    /// `X-Forwarded-Proto`: the scheme that the client used to reach this cache.
    package static let clientScheme = token("x-forwarded-proto")
    /// `Forwarded`: the client's scheme, as `proto`, and its address. RFC 7239
    package static let forwarded = token("Forwarded")
}

extension HTTPFields {
    /// The fields in which a request states its client's scheme to origins.
    ///
    /// - Parameter scheme: `http` or `https`.
    package init(clientScheme scheme: String) { self = [.clientScheme: scheme, .forwarded: "proto=\(scheme)"] }
}

/// Selects variants by the client's scheme.
///
/// Origins learn the scheme from the cache's own `X-Forwarded-Proto` and `Forwarded`, and build
/// redirects and links from it. Few origins list it in `Vary`.
extension CachePolicy {
    /// Returns whether a stored response is for clients with this request's scheme.
    ///
    /// A response with a recorded scheme matches only that scheme, even after the setting has
    /// changed.
    package func matchesScheme(_ stored: StoredResponseHead, _ request: HTTPRequest) -> Bool {
        if !selectsByScheme, stored.selectingFields.isEmpty { return true }
        let recorded = Self.scheme(in: stored.selectingFields)
        guard selectsByScheme || recorded != nil else { return true }
        if overriding != nil, ignoresScheme(stored.fields) { return true }
        return recorded == Self.scheme(in: request.headerFields)
    }

    /// Returns whether a rule says that the scheme does not affect responses.
    private func ignoresScheme(_ fields: HTTPFields) -> Bool {
        overrides(of: fields)?.ignoredFields.contains(HTTPField.Name.clientScheme.canonicalName) == true
    }

    private static func scheme(in fields: HTTPFields) -> String? {
        // Access by index, because iterating would copy every field. Compare lengths first.
        for index in fields.indices {
            let name = fields[index].name.canonicalName
            if name.utf8.count == 17, name == HTTPField.Name.clientScheme.canonicalName { return fields[index].value }
        }
        return nil
    }
}
