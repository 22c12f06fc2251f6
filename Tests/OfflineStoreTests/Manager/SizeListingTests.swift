import HTTPCache
import HTTPCacheOperations
import Testing

@testable import OfflineStore

/// The order by size of a store with many entries, where a sample bounds what is sorted.
@Suite(.timeLimit(.minutes(20))) struct SizeListingTests {
    private static let count: Int64 = 300_000

    /// In-flight fetches the columns that the listing reads.
    ///
    /// - Parameter size: an expression of the size of entry `n`.
    private func withEntries(sized size: String, _ body: (Connection) throws -> Void) throws {
        let connection = try Connection(path: ":memory:", isWritable: true, busyMilliseconds: 0)
        defer { connection.close() }
        try connection.execute(
            script: """
                CREATE TABLE entry (id INTEGER PRIMARY KEY, kind, is_invalidated, is_usable_stale, is_pinned,
                    sequence, expires_at, size);
                WITH RECURSIVE t (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM t WHERE n < \(Self.count) - 1)
                    INSERT INTO entry SELECT n + 1, n % 100 = 7, 0, n % 2, 0, 0, n / 2, \(size) FROM t;
                CREATE INDEX entry_by_expiry ON entry (
                    is_usable_stale, expires_at, kind, is_invalidated, is_pinned, sequence, size);
                """
        )
        try body(connection)
    }

    /// The places of the listing, as SQLite sorts them.
    private func expected(
        _ connection: Connection,
        _ direction: String,
        from offset: Int64,
        _ count: Int
    ) throws -> [[Int64]] {
        let statement = try connection.prepare(
            "SELECT size, id FROM entry WHERE kind = 0 ORDER BY size \(direction), id LIMIT ?1 OFFSET ?2"
        )
        defer { statement.reset() }
        statement.bind(1, Int64(count))
        statement.bind(2, offset)
        var places: [[Int64]] = []
        while try statement.step() { places.append([statement.integer(0), statement.integer(1)]) }
        return places
    }

    /// The last two mislead the sample, which has every 585th entry: more are beyond its bound, or
    /// fewer, than are wanted.
    @Test(
        arguments: [
            "n * 7919 % 100003", "581", "n", "\(count) - n", "CASE WHEN n % 585 = 0 THEN 1000000 ELSE n END",
            "CASE WHEN n % 585 = 0 THEN 1 ELSE 10 + n END",
        ],
        [false, true]
    ) func pagesFollowOneAnother(_ size: String, _ isDescending: Bool) throws {
        try withEntries(sized: size) { connection in
            let direction = isDescending ? "DESC" : "ASC"
            let total = try #require(try connection.integer("SELECT count(*) FROM entry WHERE kind = 0"))
            let pages: [(Int64, Int)] = [(0, 50), (0, 1000), (1000, 1000), (150_000, 4096), (total - 10, 50)]
            for (offset, count) in pages {
                let before = try expected(connection, direction, from: max(0, offset - 1), offset == 0 ? 0 : 1).first
                let listing = try SizeListing(after: before.map { ResponseCursor($0) }, isDescending: isDescending)
                let found = try listing.positions(connection, count: count)
                #expect(found.map(\.cursor.values) == (try expected(connection, direction, from: offset, count)))
                #expect(found.map(\.id) == found.map { $0.cursor.values[1] })
            }
        }
    }
}
