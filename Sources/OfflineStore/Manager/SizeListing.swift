import HTTPCache
import HTTPCacheOperations

/// Lists entries by size. No index begins with the size, but one index contains it, so a page takes
/// one pass over that index. Entries of the same size are listed by ascending number in both
/// directions. The pass finds them in about this order, so they need hardly any sorting.
struct SizeListing {
    private struct Position {
        var size: Int64
        var id: Int64
    }

    private let isDescending: Bool
    /// The position after which the listing continues.
    private let start: Position

    /// - Throws: ``ResponseCursor/Invalid`` if the cursor belongs to another order.
    init(after cursor: ResponseCursor?, isDescending: Bool) throws {
        self.isDescending = isDescending
        guard let values = cursor?.values else {
            start = Position(size: isDescending ? .max : .min, id: .min)
            return
        }
        guard values.count == 2 else { throw ResponseCursor.Invalid() }
        start = Position(size: values[0], id: values[1])
    }

    /// Returns the next positions.
    ///
    /// - Parameter count: the maximum number of positions. If the result has fewer, there are no
    ///   more.
    func positions(_ connection: Connection, count: Int) throws -> [CacheManager.ListPosition] {
        // With a bound, one comparison rules out most entries. Without it, every entry before the
        // last position found so far would be sorted in, which takes several times as long as the
        // pass.
        if let bound = try bound(connection, count) {
            let positions = try positions(connection, within: bound, count)
            if positions.count == count { return positions }
        }
        return try positions(connection, within: Position(size: isDescending ? .min : .max, id: .max), count)
    }

    private func positions(
        _ connection: Connection,
        within bound: Position,
        _ count: Int
    ) throws -> [CacheManager.ListPosition] {
        let statement = try connection.prepare(isDescending ? Self.descending : Self.ascending)
        defer { statement.reset() }
        statement.bind(1, start.size)
        statement.bind(2, start.id)
        statement.bind(3, bound.size)
        statement.bind(4, bound.id)
        statement.bind(5, Int64(count))
        var positions: [CacheManager.ListPosition] = []
        while try statement.step() {
            let (size, id) = (statement.integer(0), statement.integer(1))
            positions.append(CacheManager.ListPosition(id: id, cursor: ResponseCursor([size, id])))
        }
        return positions
    }

    private static let ascending = """
        SELECT size, id FROM entry INDEXED BY entry_by_expiry WHERE kind = 0
        AND size <= ?3 AND (size < ?3 OR id <= ?4)
        AND size >= ?1 AND (size > ?1 OR id > ?2) ORDER BY size, id LIMIT ?5
        """
    private static let descending = """
        SELECT size, id FROM entry INDEXED BY entry_by_expiry WHERE kind = 0
        AND size >= ?3 AND (size > ?3 OR id <= ?4)
        AND size <= ?1 AND (size < ?1 OR id > ?2) ORDER BY size DESC, id LIMIT ?5
        """

    // MARK: The bound

    private static let sampleCount: Int64 = 512
    private static let sample = "SELECT size, id FROM entry NOT INDEXED WHERE id >= ?1 ORDER BY id LIMIT 1"

    /// Returns a position up to which the wanted entries will probably be found, estimated from a
    /// sample; `nil` if the sample is not conclusive.
    private func bound(_ connection: Connection, _ count: Int) throws -> Position? {
        guard let first = try connection.integer("SELECT min(id) FROM entry"),
            let last = try connection.integer("SELECT max(id) FROM entry"),
            last - first >= Self.sampleCount * Self.sampleCount
        else { return nil }
        let statement = try connection.prepare(Self.sample)
        let step = (last - first) / Self.sampleCount
        var positions: [Position] = []
        for number in 0..<Self.sampleCount {
            defer { statement.reset() }
            statement.bind(1, first + number * step)
            guard try statement.step() else { continue }
            let position = Position(size: statement.integer(0), id: statement.integer(1))
            if isOrdered(start, position) { positions.append(position) }
        }
        // Among a million entries, the bound admits a few thousand more than are wanted.
        let rank = 4 + count / Int(Self.sampleCount)
        guard positions.count > rank else { return nil }
        positions.sort(by: isOrdered)
        return positions[rank - 1]
    }

    private func isOrdered(_ left: Position, _ right: Position) -> Bool {
        if left.size == right.size { return left.id < right.id }
        return isDescending ? left.size > right.size : left.size < right.size
    }
}
