package import HTTPCache
package import HTTPCacheSemantics
import Synchronization

/// Invalidations that are in effect but not in the database, because it cannot be written or its
/// disk is full.
///
/// Every entry that is read from disk is compared with them. As soon as the disk has room, the
/// writer writes them before anything else. In a store that is open only for reading, they hold
/// until the store is closed. After a crash, the sidecar shows that invalidations are missing from
/// the database.
package final class UnwrittenInvalidations: Sendable {
    package struct Record: Sendable {
        package var scope: InvalidationScope
        package var effect: InvalidationEffect
        /// The hash of a tag; `nil` for other scopes.
        package var tagHash: Int64?
        /// The number under which it is published, and later written.
        package var number: Int64
        package var instant: Timestamp
        /// Whether other nodes must be notified.
        package var isOwn = true

        package init(scope: InvalidationScope, effect: InvalidationEffect, number: Int64, instant: Timestamp) {
            self.scope = scope
            self.effect = effect
            self.number = number
            self.instant = instant
        }
    }

    /// The invalidations at one moment. Take the snapshot before reading an entry. Otherwise, an
    /// invalidation may be written in between, and would be missing both in the entry and in the
    /// snapshot.
    package struct Snapshot: Sendable {
        /// Invalidations of one key or target, which are found without a search.
        fileprivate(set) var narrow: [InvalidationScope: Record] = [:]
        fileprivate(set) var broad: [InvalidationScope: Record] = [:]
        /// The number of invalidations, each of them counted, however many have the same scope or
        /// were merged.
        package fileprivate(set) var count = 0
        /// The number of those that remove.
        package fileprivate(set) var removals = 0

        var isEmpty: Bool { narrow.isEmpty && broad.isEmpty }

        /// All invalidations, in the order in which they took effect.
        package var inOrder: [Record] { (Array(narrow.values) + Array(broad.values)).sorted { $0.number < $1.number } }

        /// Returns the responses that remain after these invalidations, with their marks.
        ///
        /// - Parameter tags: returns the hashes of a response's tags.
        package func apply(
            to responses: [StoredResponse],
            key: StoreKey,
            tags: (StoredResponse) throws -> [Int64]
        ) rethrows -> [StoredResponse] {
            if isEmpty || responses.isEmpty { return responses }
            var records = [narrow[.key(key)], narrow[.target(key.components.target)]].compactMap { $0 }
            records += broad.values.filter { $0.tagHash != nil || $0.scope.covers(key) }
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

    /// The maximum number of invalidations of keys and targets, which take about 4 MiB.
    static let narrowLimit = 16_384
    /// The maximum number of other invalidations. Each entry that is read is compared with all of
    /// them.
    static let broadLimit = 512

    private let state = Mutex(Snapshot())
    /// The number of invalidations. While it is 0, lookups neither take the lock nor read tags.
    private let count = Atomic(0)

    package init() {}

    package var isEmpty: Bool { count.load(ordering: .acquiring) == 0 }

    package var snapshot: Snapshot? { isEmpty ? nil : state.withLock { $0 } }

    /// Returns whether there is an unwritten invalidation of the scope.
    package func contains(_ scope: InvalidationScope) -> Bool {
        guard let snapshot else { return false }
        return snapshot.narrow[scope] != nil || snapshot.broad[scope] != nil
    }

    /// Adds an invalidation. If there already is one of the same scope, the later number and the
    /// stronger effect count.
    ///
    /// - Returns: `false` if there are too many removals. If there are too many marks, they are
    ///   merged into one invalidation that marks every entry; removals cannot be merged, because
    ///   they would remove other responses.
    package func add(_ record: Record) -> Bool {
        state.withLock { state in
            defer { count.store(state.narrow.count + state.broad.count, ordering: .releasing) }
            state.count += 1
            if record.effect == .remove { state.removals += 1 }
            switch record.scope {
            case .key, .target:
                state.narrow.add(record)
                if state.narrow.count > Self.narrowLimit, let marks = state.narrow.takeMarks() {
                    state.broad.add(marks)
                }
                guard state.narrow.count > Self.narrowLimit else { return true }
                state.narrow[record.scope] = nil
            case .all, .host, .prefix, .principal, .tag:
                state.broad.add(record)
                if state.broad.count > Self.broadLimit, let marks = state.broad.takeMarks() { state.broad.add(marks) }
                guard state.broad.count > Self.broadLimit else { return true }
                state.broad[record.scope] = nil
            }
            return false
        }
    }

    /// Removes invalidations that were written, unless their scope was invalidated again in the
    /// meantime.
    package func remove(_ written: [Record]) {
        state.withLock { state in
            for record in written {
                if state.narrow[record.scope]?.number == record.number { state.narrow[record.scope] = nil }
                if state.broad[record.scope]?.number == record.number { state.broad[record.scope] = nil }
            }
            count.store(state.narrow.count + state.broad.count, ordering: .releasing)
            let left = state.inOrder
            (state.count, state.removals) = (left.count, left.count { $0.effect == .remove })
        }
    }
}

extension [InvalidationScope: UnwrittenInvalidations.Record] {
    fileprivate mutating func add(_ record: UnwrittenInvalidations.Record) {
        var record = record
        if let earlier = self[record.scope] {
            record.effect = earlier.effect.stronger(than: record.effect)
            record.number = Swift.max(earlier.number, record.number)
            record.isOwn = earlier.isOwn || record.isOwn
        }
        self[record.scope] = record
    }

    /// Removes the invalidations that mark, and returns one invalidation that covers every
    /// response, with the strongest of their effects.
    fileprivate mutating func takeMarks() -> UnwrittenInvalidations.Record? {
        var everything: Self = [:]
        for var record in values where record.effect != .remove {
            (record.scope, record.tagHash) = (.all, nil)
            everything.add(record)
        }
        self = filter { $0.value.effect == .remove }
        return everything[.all]
    }
}

extension InvalidationEffect {
    /// Returns the stronger effect, which leaves less of an entry.
    fileprivate func stronger(than other: Self) -> Self {
        switch (self, other) {
        case (.remove, _), (_, .remove): .remove
        case (.mark(let one), .mark(let another)): .mark(max(one, another))
        }
    }
}
