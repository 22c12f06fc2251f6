package import HTTPCache
package import HTTPCacheOperations
import HTTPCacheSemantics

/// Reads purged responses, so that a cache engine can repeat their requests.
extension CacheManager {
    /// The number of rows per page.
    static let refreshPage: Int64 = 256

    /// Returns a page of the invalidated responses of the scopes. A page may be empty even if more
    /// pages follow.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    package func invalidated(_ scopes: [InvalidationScope], from cursor: RefreshCursor) async throws -> RefreshPage {
        _ = now()
        let selections = ScopeSelection.selections(scopes)
        guard selections.indices.contains(cursor.part) else { return RefreshPage([], next: nil) }
        let (ids, isWhole) = try numbers(selections[cursor.part], after: cursor.entry)
        var page = RefreshPage([], next: RefreshCursor(part: cursor.part + 1))
        if !isWhole, let last = ids.last { page.next = RefreshCursor(part: cursor.part, entry: last.number) }
        for id in ids where id.isCovered {
            guard let record = try record(of: id.number)?.record, record.invalidation != nil, !record.isDamaged,
                let response = record.response
            else { continue }
            if let target = RefreshTarget(key: response.key, repeatedFields: response.head.repeatedFields) {
                page.targets.append(target)
            } else {
                page.skipped += 1
            }
        }
        return page
    }

    /// Returns the numbers of the next entries of a selection, and whether there are no more.
    private func numbers(
        _ selection: ScopeSelection,
        after cursor: Int64
    ) throws -> (ids: [(number: Int64, isCovered: Bool)], isWhole: Bool) {
        try core.read { connection, database in
            guard let rows = try selection.rows(connection, database.state) else { return ([], true) }
            let statement = try connection.prepare(
                "SELECT entry.id, key FROM \(rows.tables) WHERE kind = 0 AND \(rows.condition) LIMIT ?2"
            )
            defer { statement.reset() }
            statement.bind(1, cursor)
            statement.bind(2, Self.refreshPage)
            if let value = rows.value { statement.bind(3, value) }
            var ids: [(number: Int64, isCovered: Bool)] = []
            while try statement.step() {
                ids.append((statement.integer(0), statement.withBytes(1, selection.covers)))
            }
            return (ids, ids.count < Int(Self.refreshPage))
        }
    }
}
