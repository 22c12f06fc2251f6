import HTTPCache
package import HTTPCacheSemantics
package import HTTPTypes

/// The request for a stored response, rebuilt from its key and its head.
package struct RefreshTarget: Sendable, Hashable {
    /// A GET with only the fields that `Vary` names and, for a stored part, its `Range`.
    package var request: HTTPRequest

    /// Rebuilds the request, if possible.
    ///
    /// - Parameter repeatedFields: the stored head's ``StoredResponseHead/repeatedFields``.
    /// - Returns: `nil` in these cases:
    ///   - the request was not a GET, belongs to one principal, or had content
    ///   - `Vary` names a field whose value the store does not keep
    package init?(key: StoreKey, repeatedFields: HTTPFields) {
        let parts = key.components
        guard case .common = parts.partition, parts.method == .get, parts.content == nil,
            !repeatedFields.contains(where: \.isWithheld)
        else { return nil }
        var fields = repeatedFields
        fields.restoreListedValues()
        request = HTTPRequest(
            method: .get,
            scheme: parts.target.scheme,
            authority: parts.target.authority,
            path: parts.target.requestTarget,
            headerFields: fields
        )
    }
}

/// A position in the list of responses that some scopes cover.
package struct RefreshCursor: Sendable, Hashable {
    /// The number of the index that is being read.
    package var part: Int
    /// The last entry that was examined.
    package var entry: Int64

    /// Creates a position; by default, the beginning.
    package init(part: Int = 0, entry: Int64 = .min) {
        self.part = part
        self.entry = entry
    }
}

/// A page of the invalidated responses that some scopes cover.
package struct RefreshPage: Sendable, Hashable {
    /// The requests for these responses.
    package var targets: [RefreshTarget]
    /// The number of responses whose request cannot be rebuilt.
    package var skipped: Int
    /// The position to continue from; `nil` at the end.
    package var next: RefreshCursor?

    /// Creates a page.
    package init(_ targets: [RefreshTarget], skipped: Int = 0, next: RefreshCursor?) {
        self.targets = targets
        self.skipped = skipped
        self.next = next
    }
}
