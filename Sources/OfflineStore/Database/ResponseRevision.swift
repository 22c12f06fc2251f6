package import HTTPCacheSemantics
package import HTTPTypes

/// The new key and index values of a stored response.
///
/// A response is revised when the basis of these values has changed since it was stored, such as an
/// operator's rules. Its fields, times and body stay.
package struct ResponseRevision: Sendable, Hashable {
    /// The new key.
    package var key: StoreKey
    /// The request fields that select its variant; `nil` keeps the current ones. Other fields are
    /// removed from the store.
    package var selectingFields: HTTPFields?
    /// The first instant at which it is stale, for the expiry index; `nil` keeps the current value.
    package var freshUntil: Timestamp?
    /// Whether it may be served stale when the origin is unreachable, for the expiry index; `nil`
    /// keeps the current value.
    package var isUsableStale: Bool?

    /// Creates a revision. The default arguments change only the key.
    package init(
        key: StoreKey,
        selectingFields: HTTPFields? = nil,
        freshUntil: Timestamp? = nil,
        isUsableStale: Bool? = nil
    ) {
        self.key = key
        self.selectingFields = selectingFields
        self.freshUntil = freshUntil
        self.isUsableStale = isUsableStale
    }
}

/// The result of revising stored responses.
package struct RevisionSummary: Sendable, Hashable {
    /// The number of responses that were examined.
    package var examined = 0
    /// The number of responses that now have another key, or are another variant of their key.
    package var moved = 0
    /// The number of responses that kept their key, but now have other values in the index.
    package var reindexed = 0
    /// The number of responses that were removed because a newer response is the same variant of
    /// the same key.
    package var superseded = 0
    /// The number of responses that were removed because their key or head is unreadable. They
    /// could not be served, and the old content of their keys would have stayed.
    package var damaged = 0

    /// Creates an empty summary.
    package init() {}

    /// Whether nothing was changed.
    package var isUnchanged: Bool { moved + reindexed + superseded + damaged == 0 }

    package static func + (lhs: RevisionSummary, rhs: RevisionSummary) -> RevisionSummary {
        var sum = lhs
        sum.examined += rhs.examined
        sum.moved += rhs.moved
        sum.reindexed += rhs.reindexed
        sum.superseded += rhs.superseded
        sum.damaged += rhs.damaged
        return sum
    }
}
