package import HTTPCache
package import HTTPCacheSemantics

/// The new head and index values of a stored response whose body is replaced.
package struct ResponseReplacement: Sendable {
    /// The new head. Its `Vary` and selecting fields must equal those of the replaced response. Its
    /// invalidation mark is ignored: the replaced response's mark stays.
    package var head: StoredResponseHead
    /// The first instant at which the response is stale.
    package var freshUntil: Timestamp
    /// Whether it may be served stale when the origin is unreachable.
    package var isUsableStale: Bool

    /// Creates a replacement.
    package init(head: StoredResponseHead, freshUntil: Timestamp, isUsableStale: Bool) {
        self.head = head
        self.freshUntil = freshUntil
        self.isUsableStale = isUsableStale
    }
}

/// A stored response before and after its body was replaced.
package struct ReplacedResponse: Sendable {
    /// The response as it was just before the replacement, without its body.
    package let former: ResponseReplacement
    /// The response as it is stored now.
    package let stored: StoredResponse
}
