package import HTTPTypes

/// Selects variants by the values of cookies and fields that an operator lists.
///
/// Only listed values reach the origin, and few origins name the cookies in `Vary`: they could only
/// name all cookies at once.
extension CachePolicy {
    /// Returns whether a stored response is for requests with this request's listed values.
    ///
    /// A response with recorded values matches only these values, even after the setting has
    /// changed.
    func matchesListedValues(_ stored: StoredResponseHead, _ request: HTTPRequest) -> Bool {
        if !selectsByListedValues, stored.selectingFields.isEmpty { return true }
        return HTTPField.Name.listedValues.allSatisfy { name in
            let recorded = stored.selectingFields[name]
            guard selectsByListedValues || recorded != nil else { return true }
            return recorded == request.headerFields[name]
        }
    }

    /// Returns the names that select variants: those in `Vary`, the client's scheme and the listed
    /// values if they select variants.
    func withImplied(_ names: [String]) -> [String] {
        var implied = selectsByScheme ? [HTTPField.Name.clientScheme.canonicalName] : []
        if selectsByListedValues { implied += HTTPField.Name.listedValues.map(\.canonicalName) }
        return names + implied.filter { !names.contains($0) }
    }
}

extension HTTPField.Name {
    /// The selecting field for cookies with listed values, such as `lang=de`. It is only compared,
    /// never sent.
    package static let listedCookies = HTTPField.Name.ofListedCookies
    /// The selecting field for fields with listed values, such as `x-device=phone`. It is only
    /// compared, never sent.
    package static let listedFields = HTTPField.Name.ofListedFields
    package static let listedValues = [listedCookies, listedFields]

    private static let ofListedCookies = token("holdfast-cookies")
    private static let ofListedFields = token("holdfast-fields")

    /// - Parameter text: a token.
    static func token(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else { preconditionFailure("It is a token.") }
        return name
    }
}
