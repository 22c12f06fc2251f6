package import HTTPCache
package import HTTPCacheOperations

/// Pins responses for operators.
extension CacheManager {
    /// The number of rows that one transaction examines. At this size, other writes wait only
    /// milliseconds.
    static let pinStep = 1024

    /// Pins or unpins the responses of the scopes, in transactions that examine 1,024 rows each.
    ///
    /// A response whose storage was acknowledged before the call is included. A response that is
    /// first stored during the call may be missed.
    ///
    /// Pin requests run one at a time, so that two requests that would each fit cannot exceed the
    /// limit together.
    ///
    /// - Throws: `PinsExceedBudget`; ``StoreError``: `readOnly`, `closed`, `full`, `io`.
    @concurrent
    package func setPinned(_ isPinned: Bool, _ scopes: [InvalidationScope]) async throws -> Int {
        _ = now()
        if isReadOnly { throw core.readOnlyError }
        // Responses that were just stored may not be written yet, so wait for the writer.
        try await core.write { _ in }
        guard isPinned else { return try await setPins(false, scopes) }
        try await core.pinTurns.enter()
        defer { core.pinTurns.leave() }
        try await checkBudget(for: scopes)
        return try await setPins(true, scopes)
    }

    private func setPins(_ isPinned: Bool, _ scopes: [InvalidationScope]) async throws -> Int {
        var changed = 0
        for selection in ScopeSelection.selections(scopes) {
            var cursor: Int64? = .min
            while let after = cursor {
                try Task.checkCancellation()
                let step = try await core.write(isDurable: true) { context in
                    try context.setPinned(isPinned, selection, after: after, atMost: Self.pinStep)
                }
                changed += step.changed
                cursor = step.last
            }
        }
        return changed
    }

    /// The maximum number of stored responses to examine before pinning. If there are more, the
    /// numbers are estimates.
    private static let pinExamination = 100_000

    /// Throws an error if the pins would take more than half of the budget. A store full of pins
    /// cannot store anything else, and in a small store the write-ahead log takes more than a
    /// fifth.
    private func checkBudget(for scopes: [InvalidationScope]) async throws {
        let count = try await count(scopes, examining: Self.pinExamination)
        let additional = count.bytes - count.pinnedBytes
        let use = try await pinUse()
        guard additional > 0, use.bytes + additional > use.limit else { return }
        throw PinsExceedBudget(use: use, additional: additional)
    }

    /// Counts pinned entries, including objects, through an index.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    package func pinUse() async throws -> PinUse {
        _ = now()
        return try core.read { connection, database in
            let statement = try connection.prepare(
                "SELECT count(*), coalesce(sum(size), 0) FROM entry INDEXED BY entry_by_expiry WHERE is_pinned = 1"
            )
            defer { statement.reset() }
            let limit = database.state.limits.budget / 2
            guard try statement.step() else { return PinUse(entries: 0, bytes: 0, limit: limit) }
            return PinUse(entries: Int(statement.integer(0)), bytes: statement.integer(1), limit: limit)
        }
    }
}
