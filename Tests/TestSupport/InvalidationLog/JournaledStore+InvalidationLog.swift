package import HTTPCache
package import HTTPCacheSemantics
import HoldfastTesting
import Synchronization

extension JournaledStore: InvalidationLog {
    package var current: InvalidationSequence { invalidationSequence }

    package var additionCount: UInt64 { journalAdditions.count }

    package func additions() -> AsyncStream<Void> { journalAdditions.listen() }

    package func join(_ name: String, at now: Timestamp) async throws -> LogStart {
        defer { makeDurable() }
        return state.withLock { state in
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
        defer { makeDurable() }
        let node = PurgeID.random()
        return try state.withLock { state in
            guard state.journal != nil else { throw InvalidationLogError.notJoined }
            state.journal?.node = node
            return node
        }
    }

    package func remember(_ notes: [UInt8]) async throws {
        try state.withLock { state in
            guard state.journal != nil else { throw InvalidationLogError.notJoined }
            state.journal?.notes = notes
        }
        makeDurable()
    }

    package func unpublished(limit: Int) async throws -> [FleetInvalidation] {
        try state.withLock { state in
            guard let journal = state.journal else { throw InvalidationLogError.notJoined }
            return Array(journal.waiting.prefix(limit))
        }
    }

    package func unpublishedCount() async throws -> Int { state.withLock { $0.journal?.waiting.count ?? 0 } }

    package func since(_ position: LogPosition, limit: Int) async throws -> [FleetInvalidation] {
        state.withLock { Array(($0.journal?.positioned(after: position) ?? []).prefix(limit)) }
    }

    @discardableResult
    package func append(_ steps: [LogStep], through cursor: LogCursor, at now: Timestamp) async throws -> Int {
        let (fresh, count): ([InvalidationScope], Int) = try state.withLock { state in
            guard var journal = state.journal else { throw InvalidationLogError.notJoined }
            var fresh: [InvalidationScope] = []
            var count = 0
            responses.withState { content in
                for step in steps {
                    switch step {
                    case .apply(let invalidation, let position):
                        if journal.note(position, of: invalidation.id) { continue }
                        journal.add(invalidation, at: position)
                        for (scope, effect) in invalidation.parts { _ = content.invalidate(scope, effect) }
                        fresh += invalidation.parts.map { $0.scope }
                        count += 1
                    case .republish(let after, let before): journal.republish(after: after, before: before)
                    case .distrust:
                        _ = content.invalidate(.all, .mark(.unspecified))
                        fresh.append(.all)
                    }
                }
            }
            journal.cursor = cursor
            state.journal = journal
            return (fresh, count)
        }
        for scope in fresh { changes.publish(StoreChange(.invalidated, scope)) }
        let republishes = steps.contains {
            if case .republish = $0 { true } else { false }
        }
        if republishes { journalAdditions.send() }
        return count
    }

    package func synchronize() async throws { makeDurable() }

    package func published(_ positions: [PurgeID: LogPosition]) async throws {
        try state.withLock { state in
            guard state.journal != nil else { throw InvalidationLogError.notJoined }
            for (id, position) in positions { _ = state.journal?.note(position, of: id) }
        }
    }

    package func settle(through position: LogPosition, at now: Timestamp, forgetting earlier: Timestamp) async throws {
        state.withLock { $0.journal?.settle(through: position, at: now, forgetting: earlier) }
    }
}
