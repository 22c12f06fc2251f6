package import HTTPCache
package import HTTPCacheSemantics

/// What takes the place of a stored response together with another body.
package struct ResponseReplacement: Sendable {
    /// The head. Its `Vary` and selecting fields are those of the response that it replaces;
    /// whether that was invalidated stays as it is, whatever this says.
    package var head: StoredResponseHead
    /// The first instant at which it is stale.
    package var freshUntil: Timestamp
    /// Whether it may be served stale when the origin cannot be reached.
    package var isUsableStale: Bool

    /// A replacement.
    package init(head: StoredResponseHead, freshUntil: Timestamp, isUsableStale: Bool) {
        self.head = head
        self.freshUntil = freshUntil
        self.isUsableStale = isUsableStale
    }
}

/// A stored response that was replaced.
package struct ReplacedResponse: Sendable {
    /// The response as it was in the moment before, without its body.
    package let former: ResponseReplacement
    /// The response as it is now.
    package let stored: StoredResponse
}
