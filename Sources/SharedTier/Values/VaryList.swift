package import HTTPCacheSemantics

/// The lists of field names by which the responses of one cache key are selected. It stands in the
/// place of an envelope when a response has `Vary`, so that a node can name the variant of a
/// request: see ``ValueNames/variant(_:_:)``.
package struct VaryList: Sendable, Hashable {
    /// The most lists.
    package static let mostLists = 16
    /// The most names in one list.
    package static let mostNames = 32
    /// The longest name, in bytes.
    package static let longestName = 256

    package let key: CacheKey
    /// When the latest of the responses was received.
    package private(set) var respondedAt: EngineTime
    /// In lower case and sorted; the list of the latest response is the first one.
    package private(set) var lists: [[String]]

    /// - Returns: `nil` beyond a limit, or without a name.
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

    /// Puts the names of a response in front of those of an earlier list. The last list is dropped
    /// if there are too many; its variants are found no longer.
    package mutating func add(_ earlier: VaryList) {
        lists += earlier.lists.filter { !lists.contains($0) }
        lists.removeLast(max(0, lists.count - Self.mostLists))
        respondedAt = max(respondedAt, earlier.respondedAt)
    }
}
