import HTTPCacheSemantics
import HTTPTypes

extension RequestRules {
    /// Edits the fields of a response for the client. The stored response does not change.
    ///
    /// Fields that name tags are removed first, so that a rule can set a field with such a name.
    ///
    /// The type of the complete representation decides which rules apply, because a part may have
    /// another type. Fields that frame the message do not change.
    func edit(_ response: inout CacheResponse) {
        let settings = settings(for: response.stored?.head.fields ?? response.head.headerFields)
        let tags = settings.tagFields
        tags.withhold(from: &response.head.headerFields)
        // Only a few responses need the closure.
        if !tags.isEmpty, response.body.trailedContent != nil {
            response.body = response.body.droppingTrailers { name in tags.contains { $0.name == name } }
        }
        let edits = settings.responseFields
        guard !edits.isEmpty else { return }
        edits.apply(to: &response.head.headerFields, keeping: Self.framingFields)
        response.body = edits.apply(toTrailersOf: response.body)
    }

    /// Fields that frame the message. If they were removed or changed, the following bytes would be
    /// misread.
    private static let framingFields: Set<HTTPField.Name> = [
        .contentLength, .contentRange, .transferEncoding, .connection, .trailer, .upgrade,
    ]
}
