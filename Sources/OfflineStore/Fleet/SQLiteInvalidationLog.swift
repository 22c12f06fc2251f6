package import HTTPCache
import HTTPCacheSemantics
import StoreFiles
import Synchronization

/// The invalidation log of a store on disk.
final class SQLiteInvalidationLog: InvalidationLog {
    private let core: StoreCore
    /// Other nodes' purges that are in effect but could not be written.
    private let held = Mutex<Set<PurgeID>>([])
    /// Whether the store could not join, so its invalidations since then may not be journaled.
    private let hasFailedToJoin = Atomic(false)

    init(core: StoreCore) {
        self.core = core
    }

    var current: InvalidationSequence { InvalidationSequence(core.lastInvalidation.number) }

    var additionCount: UInt64 { core.journalAdditions.count }

    func additions() -> AsyncStream<Void> { core.journalAdditions.listen() }

    func join(_ name: String, at now: Timestamp) async throws -> LogStart {
        do {
            let database = try core.database()
            let (node, notes) = try NodeFile(core.folder).make()
            // A database that replaced a damaged one may have had a journal.
            let lacks = database.number > 1 || hasFailedToJoin.load(ordering: .relaxed)
            var place = try await core.write(to: database, isDurable: true) {
                try $0.join(name, as: node, lacksInvalidations: lacks, at: now)
            }
            place.notes = notes
            return place
        } catch {
            hasFailedToJoin.store(true, ordering: .relaxed)
            throw error
        }
    }

    func remember(_ notes: [UInt8]) async throws { try NodeFile(core.folder).write(notes: notes) }

    func renewNode() async throws -> PurgeID {
        let node = try NodeFile(core.folder).renew()
        try await write(mayRunHere: true) { try $0.setNode(node) }
        return node
    }

    func unpublished(limit: Int) async throws -> [FleetInvalidation] {
        let waiting = try core.read { connection, _ in
            let waiting = try connection.waiting(limit: limit)
            // A database that replaced a damaged one does not know which invalidations were
            // waiting.
            return try !waiting.isEmpty || connection.hasJoined() ? waiting : nil
        }
        guard let waiting else { throw InvalidationLogError.notJoined }
        return waiting
    }

    func unpublishedCount() async throws -> Int {
        try core.read { connection, _ in try connection.waitingCount() }
    }

    func since(_ position: LogPosition, limit: Int) async throws -> [FleetInvalidation] {
        try core.read { connection, _ in try connection.journaled(after: position, limit: limit) }
    }

    @discardableResult
    func append(_ steps: [LogStep], through cursor: LogCursor, at now: Timestamp) async throws -> Int {
        do {
            let count = try await write(steps, through: cursor, at: now)
            held.withLock { $0 = [] }
            return count
        } catch let error as StoreError where error.isOfDisk {
            try await hold(steps, at: now, because: error)
            throw error
        }
    }

    /// Puts steps that cannot be written into effect in memory. The node reads them again until
    /// they can be written.
    private func hold(_ steps: [LogStep], at now: Timestamp, because error: StoreError) async throws {
        guard let writer = try core.database().writer else { return }
        let earlier = held.withLock { $0 }
        var later: Set<PurgeID> = []
        for step in steps {
            let parts: [(scope: InvalidationScope, effect: InvalidationEffect)]
            switch step {
            case .apply(let invalidation, _):
                later.insert(invalidation.id)
                // Do this once per invalidation: responses that are stored afterward are newer than
                // it.
                guard !earlier.contains(invalidation.id),
                    try !core.read({ connection, _ in try connection.isJournaled(invalidation.id) })
                else { continue }
                parts = invalidation.parts
            case .distrust: parts = [(.all, .mark(.unspecified))]
            case .republish: continue
            }
            for (scope, effect) in parts {
                // This throws the disk's error, but the invalidation is in effect anyway.
                _ = try? await writer.hold([scope], effect, at: now, isOwn: false, because: error)
                core.changes.publish(StoreChange(.invalidated, scope))
            }
        }
        held.withLock { $0 = later }
    }

    private func write(_ steps: [LogStep], through cursor: LogCursor, at now: Timestamp) async throws -> Int {
        // If this write is lost, the new cursor is lost with it, so the node reads the same steps
        // again.
        let (fresh, count) = try await write(mayRunHere: steps.count <= Self.fewSteps) { context in
            var fresh: [InvalidationScope] = []
            var count = 0
            for step in steps {
                switch step {
                case .apply(let invalidation, let position):
                    guard try context.apply(invalidation, at: position, now: now) else { continue }
                    fresh += invalidation.parts.map { $0.scope }
                    count += 1
                case .republish(let after, let before): try context.republish(after: after, before: before)
                case .distrust:
                    _ = try context.invalidateAll(.mark(.unspecified), at: now)
                    fresh.append(.all)
                }
            }
            try context.move(to: cursor)
            return (fresh, count)
        }
        for scope in fresh { core.changes.publish(StoreChange(.invalidated, scope)) }
        return count
    }

    func published(_ positions: [PurgeID: LogPosition]) async throws {
        // If this write is lost, the invalidations are published again, which adds nothing to the
        // log.
        try await write(mayRunHere: positions.count <= Self.fewSteps) { context in
            for (id, position) in positions { try context.notePosition(position, of: id) }
        }
    }

    func settle(through position: LogPosition, at now: Timestamp, forgetting earlier: Timestamp) async throws {
        // If a crash loses this write, it is repeated.
        try await core.write { try $0.settle(through: position, at: now, forgetting: earlier) }
    }

    func synchronize() async throws { try await core.synchronize() }

    /// The maximum number of steps or positions that are written on the calling thread. Writing
    /// them takes less time than two thread switches.
    private static let fewSteps = 64

    /// Writes, unless a new database has replaced the one that joined the log.
    private func write<Result: Sendable>(
        mayRunHere: Bool,
        _ operation: @escaping @Sendable (WriteContext) throws -> Result
    ) async throws -> Result {
        let result = try await core.write(mayRunHere: mayRunHere) { context in
            try context.memory.isInFleet ? operation(context) : nil
        }
        guard let result else { throw InvalidationLogError.notJoined }
        return result
    }
}

extension CacheManager {
    /// The log of this store's invalidations, for a node that shares them with other nodes.
    package var invalidationLog: any InvalidationLog { SQLiteInvalidationLog(core: core) }
}
