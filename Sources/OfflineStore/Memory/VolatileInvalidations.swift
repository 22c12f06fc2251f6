import HTTPCache
import HTTPCacheSemantics
import Synchronization

/// The invalidations of a store that cannot be written. They hold while this process has the store
/// open.
///
/// Entries read from disk are compared with them.
final class VolatileInvalidations: Sendable {
    private struct Record {
        var scope: InvalidationScope
        /// The hash of a tag; `nil` for other scopes.
        var tagHash: Int64?
        var effect: InvalidationEffect
    }

    /// The number of invalidations that are kept apart; beyond it, they become one of everything.
    static let limit = 512

    private let records = Mutex<[Record]>([])
    /// While it is 0, no look-up takes the lock or reads tags.
    private let count = Atomic(0)

    func add(_ scope: InvalidationScope, _ effect: InvalidationEffect, _ state: DatabaseState) {
        var record = Record(scope: scope, effect: effect)
        if case .tag(let name) = scope { record.tagHash = TagName(name, state).hash }
        records.withLock { records in
            if records.count >= Self.limit {
                let effects = records.map(\.effect) + [effect]
                records = [Record(scope: .all, effect: effects.reduce(effect) { $0.stronger(than: $1) })]
            } else {
                records.append(record)
            }
            count.store(records.count, ordering: .releasing)
        }
    }

    var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    /// Returns the responses that remain, with their marks, after these invalidations.
    ///
    /// - Parameter tags: returns the hashes of a response's tags.
    func apply(
        to responses: [StoredResponse],
        key: CacheKey,
        tags: (StoredResponse) throws -> [Int64]
    ) rethrows -> [StoredResponse] {
        if isEmpty || responses.isEmpty { return responses }
        let records = records.withLock { $0 }.filter { $0.tagHash != nil || $0.scope.covers(key) }
        if records.isEmpty { return responses }
        let needsTags = records.contains { $0.tagHash != nil }
        return try responses.compactMap { response in
            let tags = needsTags ? try tags(response) : []
            var response = response
            for record in records where record.tagHash.map(tags.contains) ?? true {
                switch record.effect {
                case .remove: return nil
                case .mark(let cause): response.head.invalidate(cause)
                }
            }
            return response
        }
    }
}

extension InvalidationEffect {
    /// Returns the effect that leaves less of an entry.
    fileprivate func stronger(than other: Self) -> Self {
        switch (self, other) {
        case (.remove, _), (_, .remove): .remove
        case (.mark(let one), .mark(let another)): .mark(max(one, another))
        }
    }
}

extension InvalidationScope {
    /// Returns whether it covers everything stored under a key, regardless of tags.
    fileprivate func covers(_ key: CacheKey) -> Bool {
        switch self {
        case .all: true
        case .key(let other): other == key
        case .target(let target): key.components.target == target
        case .prefix(let prefix): prefix.covers(key)
        case .host(let host): host.covers(key)
        case .tag: false
        }
    }
}
