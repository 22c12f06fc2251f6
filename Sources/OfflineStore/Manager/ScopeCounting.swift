import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import StoreFiles
import Synchronization

/// Counts the responses that some scopes cover. It reads rows in pages, so that no other reader and
/// no checkpoint has to wait, and it never reads bodies.
struct ScopeCounting {
    let core: StoreCore
    let now: Timestamp
    /// The maximum number of rows to examine.
    let limit: Int
    /// The maximum number of rows to count using only an index, which is about ten times as fast.
    let indexLimit: Int

    /// The number of rows that may still be examined.
    private(set) var left: Int
    /// The number of rows that may still be counted through an index.
    private var leftInIndex: Int

    /// The responses that were already counted. A response may be covered by several scopes.
    private var seen: Set<Int64> = []
    private var total = ScopeCount()

    private static let pageLength = 2048
    /// The minimum number of rows to examine for each tag, as a basis for an estimate. A purge has
    /// at most 1,000 tags.
    private static let leastRows = 64

    init(core: StoreCore, now: Timestamp, limit: Int, indexLimit: Int = 1_000_000) {
        self.core = core
        self.now = now
        self.limit = limit
        self.indexLimit = indexLimit
        left = limit
        leftInIndex = indexLimit
    }

    /// - Throws: `CancellationError` if the task is canceled; the store's errors.
    mutating func count(_ scopes: [InvalidationScope]) throws -> ScopeCount {
        for selection in ScopeSelection.selections(scopes) {
            try Task.checkCancellation()
            switch selection {
            case .all:
                if let count = try countAll() { return count }
                try countEntries(selection.covers)
                return total
            case .target(let target):
                try countRows(of: "target_hash = ?1", { $0.hash(target.canonicalBytes, .target) }, selection.covers)
            case .key(let key):
                try countRows(of: "key_hash = ?1", { $0.hash(key.bytes, .responseKey) }, selection.covers)
            case .tag(let name): try countTag(name)
            case .compared: try countEntries(selection.covers)
            }
        }
        return total
    }

    // MARK: Everything

    /// Counts all responses through an index that contains all required columns.
    ///
    /// - Returns: `nil` if there are too many rows. The first rows of an index by expiry are not
    ///   representative, so they are no basis for an estimate.
    private func countAll() throws -> ScopeCount? {
        try core.read { connection, database in
            let state = database.state
            let hasPending = state.mayHavePending.load(ordering: .acquiring)
            let pending = hasPending ? PendingInvalidation.state(state) : "0"
            // The index does not contain this column. It is needed only if the clock was ahead.
            let isClockBehind = horizon(state) != .max
            let storedAt = isClockBehind ? "stored_at" : "0"
            // Without the index, counting is slower, because the heads are stored between the rows.
            let isIndexed = !hasPending && !isClockBehind
            let most = isIndexed ? indexLimit : indexLimit / 10
            let statement = try connection.prepare(
                """
                SELECT count(*), sum(is_counted), sum(is_counted * size), sum(is_counted AND is_usable_stale = 1 AND is_old),
                    sum(is_counted AND is_usable_stale IS NOT 1 AND NOT is_old),
                    sum(is_counted * is_pinned), sum(is_counted * is_pinned * size)
                FROM (
                    SELECT size, is_usable_stale, is_pinned, kind = 0 AND sequence >= ?3 AND pending < 4 AS is_counted,
                        is_invalidated = 1 OR sequence < ?2 OR pending > 0
                        OR expires_at <= ?1 OR (expires_at < \(Int64.max) AND stored_at > ?4) AS is_old
                    FROM (
                        SELECT kind, size, is_usable_stale, is_pinned, is_invalidated, sequence, expires_at,
                            \(storedAt) AS stored_at, \(pending) AS pending
                        FROM entry \(isIndexed ? "INDEXED BY entry_by_expiry" : "")
                        LIMIT ?5
                    )
                )
                """
            )
            defer { statement.reset() }
            statement.bind(1, now.milliseconds)
            statement.bind(2, state.responseLowWaterMark.load(ordering: .acquiring))
            statement.bind(3, state.removalLowWaterMark(.response))
            statement.bind(4, horizon(state))
            statement.bind(5, Int64(most) + 1)
            guard try statement.step() else { return ScopeCount() }
            guard statement.integer(0) <= most else { return nil }
            return ScopeCount(
                responses: Int(statement.integer(1)),
                bytes: statement.integer(2),
                onlyOfflineCopies: Int(statement.integer(3)),
                onlyWhileFresh: Int(statement.integer(4)),
                pinned: Int(statement.integer(5)),
                pinnedBytes: statement.integer(6)
            )
        }
    }

    /// Returns the latest time at which an entry can have been stored while the clock was right.
    private func horizon(_ state: DatabaseState) -> Int64 { state.horizon(at: now) ?? .max }

    // MARK: Rows

    private static let columns =
        "entry.id, size, sequence, is_invalidated, is_usable_stale, expires_at, stored_at, is_pinned"

    /// Returns the SQL for a page of rows: the columns above, the pending invalidations, and the
    /// key.
    private static func page(_ state: DatabaseState, from tables: String = "entry", where condition: String) -> String {
        "SELECT \(columns), \(PendingInvalidation.state(state)), key FROM \(tables) WHERE kind = 0 AND \(condition)"
    }

    /// Counts a row of a page once, unless an invalidation removed it.
    private mutating func add(_ row: SQLStatement, _ state: DatabaseState) {
        let pending = PendingInvalidation(row.integer(8))
        let sequence = row.integer(2)
        guard pending != .removed, sequence >= state.removalLowWaterMark(.response) else { return }
        guard seen.insert(row.integer(0)).inserted else { return }
        total.responses += 1
        total.bytes += row.integer(1)
        if row.flag(7) {
            total.pinned += 1
            total.pinnedBytes += row.integer(1)
        }
        let end = row.integer(5)
        let isOld =
            row.flag(3) || pending != .none || sequence < state.responseLowWaterMark.load(ordering: .acquiring)
            || end <= now.milliseconds || (end < .max && row.integer(6) > horizon(state))
        switch (isOld, row.flag(4)) {
        case (true, true): total.onlyOfflineCopies += 1
        case (false, false): total.onlyWhileFresh += 1
        default: break
        }
    }

    /// Counts the rows that an index finds and whose key matches. There are only a few, unless a
    /// target has very many variants and partitions.
    private mutating func countRows(
        of condition: String,
        _ hash: (DatabaseState) -> Int64,
        _ covers: (UnsafeRawBufferPointer) -> Bool
    ) throws {
        let most = max(left, Self.leastRows)
        try core.read { connection, database in
            let statement = try connection.prepare(Self.page(database.state, where: "\(condition) LIMIT ?2"))
            defer { statement.reset() }
            statement.bind(1, hash(database.state))
            statement.bind(2, Int64(most) + 1)
            var rows = 0
            while try statement.step() {
                rows += 1
                guard rows <= most else {
                    // There are more rows, but their number is unknown.
                    total.isExact = false
                    break
                }
                if statement.withBytes(9, covers) { add(statement, database.state) }
            }
            left -= rows
        }
    }

    // MARK: Tags

    private mutating func countTag(_ name: String) throws {
        guard let tag = try core.tagNumber(name) else { return }
        let tables = "entry_tag t CROSS JOIN entry ON entry.id = t.entry_id"
        let before = total
        let condition = "t.tag_id = ?3 AND t.entry_id > ?1 ORDER BY t.entry_id"
        let examined = try examine(from: tables, where: condition, tag, atLeast: Self.leastRows)
        guard !examined.isWhole else { return }
        let most = max(leftInIndex, examined.rows)
        let all = try core.read { connection, _ in
            let numbers = "SELECT 1 FROM entry_tag WHERE tag_id = ?1 LIMIT ?2"
            return Int(try connection.integer("SELECT count(*) FROM (\(numbers))", tag, Int64(most)) ?? 0)
        }
        leftInIndex -= all
        total.extrapolate(since: before, by: Double(all) / Double(examined.rows))
    }

    // MARK: All entries

    /// Examines all entries in storage order, and compares their keys.
    private mutating func countEntries(_ covers: (UnsafeRawBufferPointer) -> Bool) throws {
        let before = total
        let condition = "entry.id > ?1 AND ?3 = 0 ORDER BY entry.id"
        // Tags may have used up the limit, and a few rows are not representative of rare prefixes.
        let least = max(Self.leastRows, limit / 2)
        let examined = try examine(from: "entry", where: condition, 0, atLeast: least, covers)
        guard !examined.isWhole else { return }
        let span = try core.read { connection, _ in
            (
                first: try connection.integer("SELECT min(id) FROM entry") ?? 0,
                last: try connection.integer("SELECT max(id) FROM entry") ?? 0
            )
        }
        // Rows may be removed in the meantime, even all of the rows that were examined.
        let share = Double(examined.cursor - span.first + 1) / Double(max(1, span.last - span.first + 1))
        let factor = share > 0 ? max(1, 1 / share) : 1
        let most = Double(max(span.last - span.first + 1, 1)) / Double(max(1, examined.rows))
        total.extrapolate(since: before, by: min(factor, max(1, most)))
    }

    /// Counts rows in pages, in the order of their numbers.
    ///
    /// - Parameters:
    ///   - condition: `?1` is the cursor, `?3` is `value`.
    ///   - least: the number of rows to examine even if the limit is used up.
    ///   - covers: returns whether a row with a given key is counted.
    /// - Returns: whether every row was examined, the number of examined rows, and the number of
    ///   the last row.
    private mutating func examine(
        from tables: String,
        where condition: String,
        _ value: Int64,
        atLeast least: Int,
        _ covers: (UnsafeRawBufferPointer) -> Bool = { _ in true }
    ) throws -> (isWhole: Bool, rows: Int, cursor: Int64) {
        let most = max(left, least)
        var cursor = Int64.min
        var rows = 0
        defer { left -= rows }
        while rows < most {
            try Task.checkCancellation()
            let length = min(Self.pageLength, most - rows)
            let (found, last) = try core.read { connection, database in
                let sql = Self.page(database.state, from: tables, where: "\(condition) LIMIT ?2")
                let statement = try connection.prepare(sql)
                defer { statement.reset() }
                statement.bind(1, cursor)
                statement.bind(2, Int64(length))
                statement.bind(3, value)
                var (found, last) = (0, cursor)
                while try statement.step() {
                    found += 1
                    last = statement.integer(0)
                    if statement.withBytes(9, covers) { add(statement, database.state) }
                }
                return (found, last)
            }
            rows += found
            cursor = last
            if found < length { return (true, rows, cursor) }
        }
        let hasMore = try core.read { connection, _ in
            let statement = try connection.prepare("SELECT 1 FROM \(tables) WHERE kind = 0 AND \(condition) LIMIT ?2")
            defer { statement.reset() }
            statement.bind(1, cursor)
            statement.bind(2, 1)
            statement.bind(3, value)
            return try statement.step()
        }
        return (!hasMore, rows, cursor)
    }
}

extension ScopeCount {
    /// Scales what was counted since an earlier state. The numbers are then estimates.
    fileprivate mutating func extrapolate(since earlier: ScopeCount, by factor: Double) {
        func estimate(_ now: Double, _ before: Double) -> Double { before + ((now - before) * factor).rounded() }
        responses = Int(estimate(Double(responses), Double(earlier.responses)))
        bytes = Int64(estimate(Double(bytes), Double(earlier.bytes)))
        onlyOfflineCopies = Int(estimate(Double(onlyOfflineCopies), Double(earlier.onlyOfflineCopies)))
        onlyWhileFresh = Int(estimate(Double(onlyWhileFresh), Double(earlier.onlyWhileFresh)))
        pinned = Int(estimate(Double(pinned), Double(earlier.pinned)))
        pinnedBytes = Int64(estimate(Double(pinnedBytes), Double(earlier.pinnedBytes)))
        isExact = false
    }
}
