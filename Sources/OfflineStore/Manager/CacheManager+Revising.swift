package import HTTPCache
import HTTPCacheSemantics
import Synchronization

/// Moves stored responses to other keys, without copying their bodies.
extension CacheManager {
    /// Returns the new key and index values of a stored response; `nil` leaves it unchanged.
    ///
    /// The function runs on the writer's queue, and runs again if a transaction is rolled back. It
    /// must depend only on its argument, and must not block. It must return the same result for the
    /// same response, so that another call can finish an interrupted revision.
    package typealias Revising = @Sendable (StoredResponse) -> ResponseRevision?

    /// Revises one response.
    ///
    /// A lookup of the old key then finds nothing, and a lookup of the new key finds this response.
    /// Readers of its body can finish. If the new key already has the same variant, the response
    /// that was received last stays. An invalidated response stays invalidated, even if the
    /// invalidation is unfinished. The change is durable when this returns.
    ///
    /// - Returns: the summary. Nothing is examined if the entry is an object or no longer exists.
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`. After an error, nothing has
    ///   changed.
    @concurrent
    @discardableResult
    package func revise(_ entry: StoreEntry, _ revising: @escaping Revising) async throws -> RevisionSummary {
        _ = now()
        let id = entry.id
        let summary = try await revise([id], bytes: StoreLimits.revisionBytes, in: try core.database(), revising)
        try await settle()
        return summary
    }

    /// Revises every response that is stored when this begins, in the order of their numbers, in
    /// bounded transactions.
    ///
    /// Each transaction is durable and leaves a consistent store. If the process is killed, the
    /// next call continues. When this returns, freed space has been returned. If
    /// ``Configuration/securelyDeletes`` is set, old keys have been erased.
    ///
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`. Responses that were revised
    ///   before the error stay revised.
    @concurrent
    package func reviseResponses(_ revising: @escaping Revising) async throws -> RevisionSummary {
        _ = now()
        if isReadOnly { throw core.readOnlyError }
        // Removals and marks by tag or prefix must first be applied to the rows.
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
    /// The approximate number of bytes that revising a response adds to the write-ahead log, in
    /// addition to its row: the pages of the indexes that the response leaves and enters.
    fileprivate static let revisionBytes = 4 * Int(pageSize)
}
