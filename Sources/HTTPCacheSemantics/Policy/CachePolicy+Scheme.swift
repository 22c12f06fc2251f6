package import HTTPTypes

extension HTTPField.Name {
    /// `X-Forwarded-Proto`, which states the scheme by which a client reached this cache.
    package static let clientScheme = HTTPField.Name.ofClientScheme
    private static let ofClientScheme: HTTPField.Name = {
        guard let name = HTTPField.Name("x-forwarded-proto") else { preconditionFailure("It is a token.") }
        return name
    }()
}

/// The client's scheme as a selecting field.
///
/// Origins learn it from the cache's own `X-Forwarded-Proto` and `Forwarded`, and build redirects
/// and links from it. Few of them say so in `Vary`.
extension CachePolicy {
    /// Whether a stored response is for clients of this request's scheme.
    ///
    /// A response for which a scheme is recorded is for that scheme alone, also after the setting
    /// has changed.
    func matchesScheme(_ stored: StoredResponseHead, _ request: HTTPRequest) -> Bool {
        if !selectsByScheme, stored.selectingFields.isEmpty { return true }
        let recorded = Self.scheme(in: stored.selectingFields)
        guard selectsByScheme || recorded != nil else { return true }
        if overriding != nil, ignoresScheme(stored.fields) { return true }
        return recorded == Self.scheme(in: request.headerFields)
    }

    /// Whether a rule says that the scheme makes no difference to responses.
    private func ignoresScheme(_ fields: HTTPFields) -> Bool {
        overrides(of: fields)?.ignoredFields.contains(HTTPField.Name.clientScheme.canonicalName) == true
    }

    /// The names that select variants: those in `Vary`, and the client's scheme if it does.
    func withScheme(_ names: [String]) -> [String] {
        let name = HTTPField.Name.clientScheme.canonicalName
        return selectsByScheme && !names.contains(name) ? names + [name] : names
    }

    private static func scheme(in fields: HTTPFields) -> String? {
        // By index, because a loop over the fields would copy each one; lengths first.
        for index in fields.indices {
            let name = fields[index].name.canonicalName
            if name.utf8.count == 17, name == HTTPField.Name.clientScheme.canonicalName { return fields[index].value }
        }
        return nil
    }
}
