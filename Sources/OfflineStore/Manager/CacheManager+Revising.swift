package import HTTPCache
import HTTPCacheSemantics
import Synchronization

/// Filing what is stored under other keys, with its bodies where they are.
extension CacheManager {
    /// Tells what a stored response is to be filed under; `nil`: it stays.
    ///
    /// It runs on the writer's queue and is asked again when a transaction had to be rolled back:
    /// it decides from what it is given, and waits for nothing. Of what it has decided once it says
    /// the same again, so that a revision that was cut short is finished by another.
    package typealias Revising = @Sendable (StoredResponse) -> ResponseRevision?

    /// Revises one response.
    ///
    /// Whoever looks it up under the key it had finds nothing there, and under the new one this; a
    /// body that is being read is read to its end. Where another is the same variant of the new
    /// key, the one received last stays. What was invalidated stays so: also what an unfinished
    /// invalidation is about. It is durable when this returns.
    ///
    /// - Returns: what came of it; nothing examined when it is an object or gone.
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`. Then nothing has changed.
    @concurrent
    @discardableResult
    package func revise(_ entry: StoreEntry, _ revising: @escaping Revising) async throws -> RevisionSummary {
        _ = now()
        let id = entry.id
        let summary = try await revise([id], bytes: StoreLimits.revisionBytes, in: try core.database(), revising)
        try await settle()
        return summary
    }

    /// Revises every response that is stored when this begins, in the order of their numbers and in
    /// bounded transactions.
    ///
    /// Each transaction is durable and leaves a whole store; the next call goes on where a killed
    /// process was stopped. Room that became free has been given back, and where content is erased,
    /// keys that are gone have been erased, when this returns.
    ///
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`. What was revised until then
    ///   stays so.
    @concurrent
    package func reviseResponses(_ revising: @escaping Revising) async throws -> RevisionSummary {
        _ = now()
        if isReadOnly { throw core.readOnlyError }
        // What was removed or marked by its tag or prefix a moment ago is then a matter of its row.
        try await settle()
        let database = try core.database()
        let last = try core.read(database) { try $0.integer("SELECT max(id) FROM entry") ?? .min }
        var summary = RevisionSummary()
        var cursor = Int64.min
        while true {
            let page = try core.read(database) {
                try Self.page($0, after: cursor, through: last, database.state.limits)
            }
            guard let end = page.ids.last else { break }
            cursor = end
            summary = summary + (try await revise(page.ids, bytes: page.bytes, in: database, revising))
        }
        try await settle()
        return summary
    }

    private func revise(
        _ ids: [Int64],
        bytes: Int,
        in database: StoreDatabase,
        _ revising: @escaping Revising
    ) async throws -> RevisionSummary {
        let changes = try await core.write(to: database, bytes: bytes, isDurable: true) { context in
            try ids.map { try context.revise($0, revising) }
        }
        var summary = RevisionSummary()
        for change in changes {
            summary = summary + change.summary
            guard let move = change.move else { continue }
            core.changes.publish(StoreChange(.invalidated, .key(move.from)))
            core.changes.publish(StoreChange(.stored, .key(move.to), tags: move.tags))
        }
        return summary
    }

    private static func page(
        _ connection: Connection,
        after cursor: Int64,
        through last: Int64,
        _ limits: StoreLimits
    ) throws -> (ids: [Int64], bytes: Int) {
        let statement = try connection.prepare(
            """
            SELECT id, length(head) + length(key) + length(variant) FROM entry NOT INDEXED
            WHERE id > ?1 AND id <= ?2 AND kind = 0 ORDER BY id LIMIT \(limits.batch)
            """
        )
        defer { statement.reset() }
        statement.bind(1, cursor)
        statement.bind(2, last)
        var ids: [Int64] = []
        var bytes = 0
        while bytes < limits.transaction, try statement.step() {
            ids.append(statement.integer(0))
            bytes += Int(statement.integer(1)) + StoreLimits.revisionBytes
        }
        return (ids, bytes)
    }
}

extension StoreLimits {
    /// What revising a response brings to the log beside its row, about: pages of the indexes that
    /// it leaves and comes to.
    fileprivate static let revisionBytes = 4 * Int(pageSize)
}
