import HTTPCache
import HTTPCacheSemantics

/// Pins rows in steps.
extension WriteContext {
    /// The result of one step.
    struct PinStep: Sendable {
        /// The number of changed responses.
        var changed = 0
        /// The number of the last examined row; `nil` if there are no more.
        var last: Int64?
    }

    /// Pins or unpins the selected responses among some rows.
    ///
    /// It finds and changes them in one transaction, in the order of their numbers. So a response
    /// that is replaced between two steps is found under its new number, which is greater.
    ///
    /// - Parameters:
    ///   - cursor: only rows with greater numbers are examined.
    ///   - count: the most rows to examine.
    func setPinned(
        _ isPinned: Bool,
        _ selection: ScopeSelection,
        after cursor: Int64,
        atMost count: Int
    ) throws -> PinStep {
        guard let rows = try selection.rows(connection, state) else { return PinStep() }
        let statement = try connection.prepare(
            """
            SELECT entry.id, is_pinned, sequence, \(PendingInvalidation.state), key FROM \(rows.tables)
            WHERE kind = 0 AND \(rows.condition) LIMIT ?2
            """
        )
        statement.bind(1, cursor)
        statement.bind(2, Int64(count))
        if let value = rows.value { statement.bind(3, value) }
        var step = PinStep()
        var ids: [Int64] = []
        var seen = 0
        while try statement.step() {
            seen += 1
            step.last = statement.integer(0)
            guard statement.flag(1) != isPinned, statement.withBytes(4, selection.covers),
                exists(.response, sequence: statement.integer(2), pending: statement.integer(3))
            else { continue }
            ids.append(statement.integer(0))
        }
        statement.reset()
        for id in ids { try connection.run("UPDATE entry SET is_pinned = ?2 WHERE id = ?1", id, isPinned ? 1 : 0) }
        step.changed = ids.count
        if seen < count { step.last = nil }
        return step
    }
}
