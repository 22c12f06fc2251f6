package import HTTPCacheSemantics

/// The lists of field names that select the responses of one cache key. If a response has `Vary`,
/// this list replaces the envelope, so that a node can derive the name of a request's variant: see
/// ``ValueNames/variant(_:_:)``.
package struct VaryList: Sendable, Hashable {
    /// The maximum number of lists.
    package static let mostLists = 16
    /// The maximum number of names in one list.
    package static let mostNames = 32
    /// The longest name, in bytes.
    package static let longestName = 256

    package let key: CacheKey
    /// When the latest of the responses was received.
    package private(set) var respondedAt: EngineTime
    /// In lower case and sorted. The first list belongs to the latest response.
    package private(set) var lists: [[String]]

    /// - Returns: `nil` if a limit is exceeded or there is no name.
    package init?(key: CacheKey, names: [String], respondedAt: EngineTime) {
        self.init(key: key, lists: [Set(names).sorted()], respondedAt: respondedAt)
    }

    /// - Parameter lists: in lower case and sorted.
    init?(key: CacheKey, lists: [[String]], respondedAt: EngineTime) {
        guard (1...Self.mostLists).contains(lists.count), Set(lists).count == lists.count,
            lists.allSatisfy({ names in
                (1...Self.mostNames).contains(names.count) && names == Set(names).sorted()
                    && names.allSatisfy { (1...Self.longestName).contains($0.utf8.count) }
            })
        else { return nil }
        self.key = key
        self.lists = lists
        self.respondedAt = respondedAt
    }

    /// Adds the lists of an earlier value after this response's list. If there are too many, the
    /// last list is dropped, and its variants are no longer found.
    package mutating func add(_ earlier: VaryList) {
        lists += earlier.lists.filter { !lists.contains($0) }
        lists.removeLast(max(0, lists.count - Self.mostLists))
        respondedAt = max(respondedAt, earlier.respondedAt)
    }
}
