package import HTTPCacheSemantics

/// The lists of field names that select among a cache key's responses. If a response has `Vary`, a
/// list of this kind is stored in place of its envelope, so that a node can derive the name of a
/// request's variant: see ``ValueNames/variant(_:_:)``.
package struct VaryList: Sendable, Hashable {
    /// The maximum number of lists.
    package static let mostLists = 16
    /// The maximum number of names in one list.
    package static let mostNames = 32
    /// The maximum length of a name, in bytes.
    package static let longestName = 256

    package let key: StoreKey
    /// When the most recent of the responses was received.
    package private(set) var respondedAt: EngineTime
    /// The lists, each in lower case and sorted. The first list belongs to the most recent
    /// response.
    package private(set) var lists: [[String]]

    /// - Returns: `nil` if there are no names, or if a limit is exceeded.
    package init?(key: StoreKey, names: [String], respondedAt: EngineTime) {
        self.init(key: key, lists: [Set(names).sorted()], respondedAt: respondedAt)
    }

    /// - Parameter lists: the lists, in lower case and sorted.
    init?(key: StoreKey, lists: [[String]], respondedAt: EngineTime) {
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

    /// Adds the lists of an earlier value after the existing lists. If there are then too many
    /// lists, the last lists are dropped, and their variants can no longer be found.
    package mutating func add(_ earlier: VaryList) {
        lists += earlier.lists.filter { !lists.contains($0) }
        lists.removeLast(max(0, lists.count - Self.mostLists))
        respondedAt = max(respondedAt, earlier.respondedAt)
    }
}
