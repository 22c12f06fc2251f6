/// The form in which rules key the content of a POST: `store.content` and `ignore.members`.
///
/// A job's file has the form next to the digest of the content, because the digest of one form
/// cannot be computed from the digest of another.
package enum ContentForm: Sendable, Hashable {
    /// The bytes of any content.
    case any
    /// The bytes of a GraphQL query. Other content is not keyed.
    case graphQL
    /// JSON in its canonical form, without these members. Other content is keyed by its bytes.
    indirect case json(MemberPaths)

    /// Returns whether keyed JSON has the same digest in both forms. Other content always does.
    func hasDigest(of other: ContentForm) -> Bool {
        switch (self, other) {
        case (.json(let ignored), .json(let others)): Set(ignored.paths) == Set(others.paths)
        case (.json, _), (_, .json): false
        case (.any, _), (.graphQL, _): true
        }
    }
}

extension ExchangeSettings {
    /// The form in which the content of a POST is keyed; `nil` if only a caller can key it.
    var contentForm: ContentForm? {
        switch keyedContent {
        case .asRequested: nil
        case .any: .any
        case .graphQL: .graphQL
        case .json: .json(ignoredMembers)
        }
    }
}
