package import HTTPCache
package import HTTPCacheSemantics
import Synchronization

/// The invalidation log of an ``InMemoryResponseStore``. It has the same contract as the log of a
/// store on disk.
package final class InMemoryInvalidationLog: InvalidationLog {
    private let store: InMemoryResponseStore

    package init(_ store: InMemoryResponseStore) { self.store = store }

    package var current: InvalidationSequence { store.invalidationSequence }

    package var additionCount: UInt64 { store.journalAdditions.count }

    package func additions() -> AsyncStream<Void> { store.journalAdditions.listen() }

    package func join(_ name: String, at now: Timestamp) async throws -> LogStart {
        defer { store.makeDurable() }
        return store.state.withLock { state in
            var journal = state.journal ?? InMemoryJournal(name: name)
            if journal.name != name {
                let (node, notes) = (journal.node, journal.notes)
                journal = InMemoryJournal(name: name)
                (journal.node, journal.notes) = (node, notes)
            }
            state.journal = journal
            return LogStart(
                node: journal.node,
                cursor: journal.cursor,
                unpublished: journal.waiting.count,
                notes: journal.notes
            )
        }
    }

    package func renewNode() async throws -> PurgeID {
        defer { store.makeDurable() }
        let node = PurgeID.random()
        return try store.state.withLock { state in
            guard state.journal != nil else { throw InvalidationLogError.notJoined }
            state.journal?.node = node
            return node
        }
    }

    package func remember(_ notes: [UInt8]) async throws {
        try store.state.withLock { state in
            guard state.journal != nil else { throw InvalidationLogError.notJoined }
            state.journal?.notes = notes
        }
        store.makeDurable()
    }

    /// Makes this store a copy of another store, like a clone of its volume.
    package func takeNode(of other: InMemoryInvalidationLog) {
        let node = other.store.state.withLock { $0.journal?.node }
        store.state.withLock { if let node { $0.journal?.node = node } }
    }

    package func unpublished(limit: Int) async throws -> [FleetInvalidation] {
        try store.state.withLock { state in
            guard let journal = state.journal else { throw InvalidationLogError.notJoined }
            return Array(journal.waiting.prefix(limit))
        }
    }

    package func unpublishedCount() async throws -> Int {
        store.state.withLock { $0.journal?.waiting.count ?? 0 }
    }

    package func since(_ position: LogPosition, limit: Int) async throws -> [FleetInvalidation] {
        store.state.withLock { Array(($0.journal?.positioned(after: position) ?? []).prefix(limit)) }
    }

    @discardableResult
    package func append(_ steps: [LogStep], through cursor: LogCursor, at now: Timestamp) async throws -> Int {
        let (fresh, count): ([InvalidationScope], Int) = try store.state.withLock { state in
            guard state.journal != nil else { throw InvalidationLogError.notJoined }
            var fresh: [InvalidationScope] = []
            var count = 0
            for step in steps {
                switch step {
                case .apply(let invalidation, let position):
                    if state.journal?.note(position, of: invalidation.id) == true { continue }
                    state.journal?.add(invalidation, at: position)
                    _ = state.invalidate(invalidation.scope, invalidation.effect)
                    fresh.append(invalidation.scope)
                    count += 1
                case .republish(let after, let before): state.journal?.republish(after: after, before: before)
                case .distrust:
                    _ = state.invalidate(.all, .mark(.unspecified))
                    fresh.append(.all)
                }
            }
            state.journal?.cursor = cursor
            return (fresh, count)
        }
        for scope in fresh { store.changes.publish(StoreChange(.invalidated, scope)) }
        let republishes = steps.contains {
            if case .republish = $0 { true } else { false }
        }
        if republishes { store.journalAdditions.send() }
        return count
    }

    package func synchronize() async throws { store.makeDurable() }

    package func published(_ positions: [PurgeID: LogPosition]) async throws {
        try store.state.withLock { state in
            guard state.journal != nil else { throw InvalidationLogError.notJoined }
            for (id, position) in positions { _ = state.journal?.note(position, of: id) }
        }
    }

    package func settle(through position: LogPosition, at now: Timestamp, forgetting earlier: Timestamp) async throws {
        store.state.withLock { $0.journal?.settle(through: position, at: now, forgetting: earlier) }
    }
}

/// An in-memory journal.
struct InMemoryJournal {
    private struct Row {
        var invalidation: FleetInvalidation
        var position: LogPosition?
        var settledAt: Timestamp?
    }

    let name: String
    var node = PurgeID.random()
    var notes: [UInt8] = []
    var cursor = LogCursor()
    /// The rows in order of arrival.
    private var rows: [Row] = []
    private var places: [PurgeID: Int] = [:]

    init(name: String) { self.name = name }

    var waiting: [FleetInvalidation] { rows.filter { $0.position == nil }.map(\.invalidation) }

    func positioned(after position: LogPosition) -> [FleetInvalidation] {
        rows.compactMap { row in row.position.map { (row.invalidation, $0) } }
            .filter { $0.1 > position }
            .sorted { $0.1 < $1.1 }
            .map(\.0)
    }

    mutating func add(_ invalidation: FleetInvalidation, at position: LogPosition? = nil) {
        places[invalidation.id] = rows.count
        rows.append(Row(invalidation: invalidation, position: position))
    }

    /// - Returns: whether the purge is in the journal.
    mutating func note(_ position: LogPosition, of id: PurgeID) -> Bool {
        guard let place = places[id] else { return false }
        if rows[place].position.map({ $0 < position }) ?? true {
            rows[place].position = position
            rows[place].settledAt = nil
        }
        return true
    }

    mutating func republish(after: LogPosition, before: LogPosition?) {
        for index in rows.indices {
            guard let position = rows[index].position, position > after,
                before.map({ position < $0 }) ?? true
            else { continue }
            rows[index].position = nil
            rows[index].settledAt = nil
        }
    }

    mutating func settle(through position: LogPosition, at now: Timestamp, forgetting earlier: Timestamp) {
        for index in rows.indices {
            guard let own = rows[index].position, own <= position, rows[index].settledAt == nil else { continue }
            rows[index].settledAt = now
        }
        rows.removeAll { row in row.settledAt.map { $0 <= earlier } ?? false }
        places = Dictionary(uniqueKeysWithValues: rows.enumerated().map { ($1.invalidation.id, $0) })
    }
}
