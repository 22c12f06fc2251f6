package import HTTPCacheSemantics
package import HTTPTypes

/// What the store files a response under, when that follows from something that has changed since
/// it was stored: an operator's rules, say.
///
/// Its fields, its times and its body stay as they came.
package struct ResponseRevision: Sendable, Hashable {
    /// The key that it is stored under from now on.
    package var key: CacheKey
    /// The request fields that select its variant; `nil`: as they are. What is not among them is
    /// not in the store afterwards.
    package var selectingFields: HTTPFields?
    /// What the index of expiry says; `nil`: as it is.
    package var freshUntil: Timestamp?
    /// Whether the index says that it may be used, stale, when the origin cannot be reached; `nil`:
    /// as it is.
    package var isUsableStale: Bool?

    /// A revision; without more than a key, one that changes the key alone.
    package init(
        key: CacheKey,
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

/// What came of revising stored responses.
package struct RevisionSummary: Sendable, Hashable {
    /// Responses that were looked at.
    package var examined = 0
    /// Those under another key, or another variant of their key, than before.
    package var moved = 0
    /// Those of which the index says something else, and which stayed where they were.
    package var reindexed = 0
    /// Those removed because a newer one came to be the same variant of the same key.
    package var superseded = 0
    /// Those removed because their key or head could not be read: they answered nothing, and what
    /// they had in their key would have stayed.
    package var damaged = 0

    /// Nothing yet.
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
