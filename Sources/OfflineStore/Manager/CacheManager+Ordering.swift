import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics

/// The positions of entries in an order. The store has an index for every order except by size.
extension CacheManager {
    /// An entry's number, and the entry's position in an order.
    struct ListPosition {
        var id: Int64
        var cursor: ResponseCursor
    }

    /// Returns the next positions in an order.
    ///
    /// - Parameter count: the maximum number of positions. If the result has fewer, there are no
    ///   more.
    func places(after cursor: ResponseCursor?, in order: ResponseOrder, count: Int) throws -> [ListPosition] {
        guard let listing = OrderedListing(order) else {
            let listing = try SizeListing(after: cursor, isDescending: order.isDescending)
            return try core.read { connection, _ in try listing.positions(connection, count: count) }
        }
        let start = try listing.start(cursor)
        return try core.read { connection, _ in
            // Each part is sorted; the parts are then merged.
            let parts = try listing.parts.map { part in
                let statement = try connection.prepare(part)
                defer { statement.reset() }
                for (index, value) in start.enumerated() { statement.bind(Int32(index + 1), value) }
                statement.bind(Int32(start.count + 1), Int64(count))
                var places: [ListPosition] = []
                while try statement.step() {
                    let values = start.indices.map { statement.integer(Int32($0)) }
                    places.append(ListPosition(id: values[values.count - 1], cursor: ResponseCursor(values)))
                }
                return places
            }
            guard parts.count > 1 else { return parts.first ?? [] }
            return Array(parts.joined().sorted { listing.isOrdered($0.cursor, $1.cursor) }.prefix(count))
        }
    }

    /// Returns the entries at the given positions, in order. Skips entries that no longer exist,
    /// lack the tag, or fail `isWanted`.
    ///
    /// - Parameter isWanted: called before an entry's head is decoded.
    func entries(
        at places: ArraySlice<ListPosition>,
        tag: Int64?,
        under rules: RulesInForce?,
        where isWanted: (EntryRecord) -> Bool
    ) throws -> [(entry: StoreEntry, cursor: ResponseCursor)] {
        try core.read { connection, database in
            let statement = try connection.prepare(Self.entryQuery.sql(database.state))
            defer { statement.reset() }
            var found: [(StoreEntry, ResponseCursor)] = []
            for place in places {
                if let tag {
                    let count = try connection.integer(
                        "SELECT count(*) FROM entry_tag WHERE entry_id = ?1 AND tag_id = ?2",
                        place.id,
                        tag
                    )
                    guard count == 1 else { continue }
                }
                statement.reset()
                statement.bind(1, place.id)
                guard try statement.step(), let record = EntryRecord(statement, database.state), isWanted(record)
                else { continue }
                found.append((StoreEntry(record, under: rules), place.cursor))
            }
            return found
        }
    }

    private static let entryQuery = EntryRecord.Query("entry.id = ?1")
}

/// The SQL of an order for which there is an index.
private struct OrderedListing {
    let parts: [String]
    private let width: Int
    private let isDescending: Bool

    /// Returns `nil` if no index has this order.
    init?(_ order: ResponseOrder) {
        isDescending = order.isDescending
        let columns: [String]
        let conditions: [String]
        switch order.key {
        case .stored:
            columns = ["id"]
            conditions = ["NOT INDEXED WHERE"]
        case .expires:
            columns = ["expires_at", "kind", "is_invalidated", "is_pinned", "sequence", "size", "id"]
            conditions = [0, 1].map { "INDEXED BY entry_by_expiry WHERE is_usable_stale = \($0) AND" }
        case .used:
            columns = ["recency", "id"]
            conditions = ["INDEXED BY entry_by_recency WHERE is_pinned = 0 AND"]
        case .size: return nil
        }
        width = columns.count
        let (list, sign) = (columns.joined(separator: ", "), order.isDescending ? "<" : ">")
        let values = (1...columns.count).map { "?\($0)" }.joined(separator: ", ")
        let sorted = columns.map { $0 + (order.isDescending ? " DESC" : "") }.joined(separator: ", ")
        parts = conditions.map {
            "SELECT \(list) FROM entry \($0) (\(list)) \(sign) (\(values)) ORDER BY \(sorted) LIMIT ?\(columns.count + 1)"
        }
    }

    /// Returns the values after which the listing continues.
    ///
    /// - Throws: ``ResponseCursor/Invalid`` if the cursor belongs to another order.
    func start(_ cursor: ResponseCursor?) throws -> [Int64] {
        guard let cursor else { return Array(repeating: isDescending ? .max : .min, count: width) }
        guard cursor.values.count == width else { throw ResponseCursor.Invalid() }
        return cursor.values
    }

    func isOrdered(_ left: ResponseCursor, _ right: ResponseCursor) -> Bool {
        isDescending
            ? right.values.lexicographicallyPrecedes(left.values) : left.values.lexicographicallyPrecedes(right.values)
    }
}
