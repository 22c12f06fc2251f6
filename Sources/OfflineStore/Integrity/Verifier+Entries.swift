import HTTPCacheSemantics
import NIOCore
import StoreFiles

/// Examines entries: heads, keys, sizes, and the chunks of their bodies.
extension Verifier {
    private static let pageCount: Int64 = 64
    private static let indexes: [(name: String, condition: String, columns: [String])] = [
        ("entry_by_key", "", ["key_hash"]),
        ("entry_by_target", "target_hash IS NOT NULL", ["target_hash"]),
        ("entry_by_recency", "is_pinned = 0", ["recency"]),
        (
            "entry_by_expiry", "",
            ["is_usable_stale", "expires_at", "kind", "is_invalidated", "is_pinned", "sequence", "size"]
        ),
    ]

    /// The numbers in the table `store` that an entry's numbers are compared with, read in the same
    /// snapshot.
    private struct Bounds {
        var nextID: Int64
        var sequence: Int64
    }

    func examineEntries(_ connection: Connection, _ state: DatabaseState) throws {
        report.entries = 0
        var last = Int64.min
        while let (reached, large) = try snapshot(connection, { try examinePage(connection, state, after: last) }) {
            // The body is too large for one snapshot.
            if let large { try examineLargeBody(large, connection) }
            last = reached
        }
    }

    /// Examines the next entries.
    ///
    /// - Returns: the number of the last entry, with its row if its body must still be read; `nil`
    ///   if there are no more entries.
    private func examinePage(
        _ connection: Connection,
        _ state: DatabaseState,
        after last: Int64
    ) throws -> (Int64, EntryRow?)? {
        let bounds = try bounds(connection)
        let rows = try rows(
            connection,
            "SELECT \(EntryRow.columns) FROM entry NOT INDEXED WHERE id > ?1 ORDER BY id LIMIT \(Self.pageCount)",
            last
        )
        var bytes: Int64 = 0
        var reached: Int64?
        var large: EntryRow?
        for row in rows {
            reached = row.id
            report.entries += 1
            try examine(row, bounds, connection, state)
            if row.bodyLength > Self.snapshotBytes {
                large = row
                break
            }
            try examineChunks(of: row, 0..<row.chunkCount, connection)
            bytes += row.bodyLength + Int64(row.head.count)
            if bytes >= Self.snapshotBytes { break }
        }
        guard let reached else { return nil }
        if !report.isStructureExamined { try examineIndexes(connection, after: last, through: reached) }
        return (reached, large)
    }

    /// Examines a sample of entries, evenly spread by their numbers.
    func examineSample(_ connection: Connection, _ state: DatabaseState) throws {
        report.entries = Int(try connection.integer("SELECT count(*) FROM entry") ?? 0)
        guard let first = try connection.integer("SELECT min(id) FROM entry"),
            let last = try connection.integer("SELECT max(id) FROM entry")
        else { return }
        let distance = max(1, (last.subtractingReportingOverflow(first).partialValue) / Self.sampleCount)
        var position = first
        for _ in 0...Self.sampleCount {
            let row = try snapshot(connection) {
                let bounds = try bounds(connection)
                let row = try rows(
                    connection,
                    "SELECT \(EntryRow.columns) FROM entry NOT INDEXED WHERE id >= ?1 ORDER BY id LIMIT 1",
                    position
                ).first
                if let row {
                    try examine(row, bounds, connection, state)
                    let count = row.chunkCount
                    for index in Set([0, count - 1]) where (0..<count).contains(index) {
                        try examineChunks(of: row, index..<index + 1, connection)
                    }
                }
                return row
            }
            guard let row, row.id < last else { return }
            let (next, isPastAll) = position.addingReportingOverflow(distance)
            position = isPastAll ? last : max(row.id + 1, next)
        }
    }

    private func bounds(_ connection: Connection) throws -> Bounds {
        let statement = try connection.prepare("SELECT next_id, sequence FROM store WHERE id = 1")
        defer { statement.reset() }
        guard try statement.step() else { throw WriteContext.missingRow }
        return Bounds(nextID: statement.integer(0), sequence: statement.integer(1))
    }

    private func rows(_ connection: Connection, _ sql: String, _ first: Int64) throws -> [EntryRow] {
        let statement = try connection.prepare(sql)
        defer { statement.reset() }
        statement.bind(1, first)
        var rows: [EntryRow] = []
        var bytes: Int64 = 0
        while bytes < Self.snapshotBytes, try statement.step() {
            rows.append(EntryRow(statement))
            bytes += Int64(rows.last?.head.count ?? 0)
        }
        return rows
    }

    // MARK: One entry

    private func examine(
        _ row: EntryRow,
        _ bounds: Bounds,
        _ connection: Connection,
        _ state: DatabaseState
    ) throws {
        report.examinedEntries += 1
        guard let kind = EntryKind(rawValue: row.kind), row.bodyLength >= 0,
            row.chunkCount <= Int64(StoreLimits.chunksPerBody)
        else {
            return find(.row, "entry \(row.id) has an unknown kind or an impossible body length", row)
        }
        var tags: Int64 = 0
        if state.has(DatabaseState.tagSchemaVersion) {
            tags = try connection.integer("SELECT count(*) FROM entry_tag WHERE entry_id = ?1", row.id) ?? 0
        }
        examineValues(of: row, kind, tags: tags, state)
        if row.id >= bounds.nextID { find(.row, "entry \(row.id) has a number that has not been assigned yet", row) }
        if row.sequence > bounds.sequence {
            find(.row, "entry \(row.id) was stored after an invalidation that never happened", row)
        }
        // A body has the number of its entry, so no two entries share a body.
        if row.bodyID != row.id {
            find(.body, "entry \(row.id) names the body of another entry, \(row.bodyID)", row)
        } else if try connection.integer("SELECT 1 FROM garbage WHERE body_id = ?1", row.bodyID) != nil {
            find(.body, "the body of entry \(row.id) is listed for removal", row)
        }
        let statement = try connection.prepare(
            "SELECT id FROM entry INDEXED BY entry_by_key WHERE key_hash = ?1 AND kind = ?2 AND key = ?3 AND variant = ?4 AND id < ?5"
        )
        defer { statement.reset() }
        statement.bind(1, row.keyHash)
        statement.bind(2, row.kind)
        statement.bind(3, row.key)
        statement.bind(4, row.variant)
        statement.bind(5, row.id)
        if try statement.step() {
            find(.duplicate, "entries \(statement.integer(0)) and \(row.id) are the same variant of one key", row)
        }
    }

    /// Examines the values in one entry's row.
    private func examineValues(of row: EntryRow, _ kind: EntryKind, tags: Int64, _ state: DatabaseState) {
        switch kind {
        case .response:
            if let key = StoreKey(bytes: row.key) {
                if state.hash(row.key, .responseKey) != row.keyHash
                    || row.targetHash != state.hash(key.components.target.canonicalBytes, .target)
                {
                    find(.key, "entry \(row.id) cannot be found under its key", row)
                }
            } else {
                find(.key, "the key of entry \(row.id) cannot be read", row)
            }
            if let head = StoredHeadCodec.decode(row.head, binding: row.binding) {
                if VariantKey.bytes(of: head) != row.variant {
                    find(.key, "entry \(row.id) is stored as the wrong variant", row)
                }
            } else {
                find(.head, "the head of entry \(row.id) is damaged", row)
            }
        case .object:
            if state.hash(row.key, .objectKey) != row.keyHash || row.targetHash != nil || !row.variant.isEmpty
                || String(validating: row.key, as: UTF8.self) == nil
            {
                find(.key, "entry \(row.id) cannot be found under its key", row)
            }
            if row.head.withUnsafeBytes({ ObjectHeadCodec.decode($0, binding: row.binding) }) == nil {
                find(.head, "the head of entry \(row.id) is damaged", row)
            }
        }
        let size = EntryRow.size(
            key: row.key.count,
            variant: row.variant.count,
            head: row.head.count,
            bodyLength: row.bodyLength,
            tags: tags
        )
        if size != row.size { find(.size, "entry \(row.id) is recorded with \(row.size) bytes but has \(size)", row) }
    }

    private func examineIndexes(_ connection: Connection, after last: Int64, through reached: Int64) throws {
        for index in Self.indexes {
            let condition = index.condition.isEmpty ? "" : " AND \(index.condition)"
            let equal = index.columns.map { "i.\($0) = e.\($0)" }.joined(separator: " AND ")
            let statement = try connection.prepare(
                """
                SELECT id FROM entry e NOT INDEXED WHERE id > ?1 AND id <= ?2\(condition) AND NOT EXISTS (
                    SELECT 1 FROM entry i INDEXED BY \(index.name) WHERE \(equal) AND i.id = e.id\(condition.replacing(" AND ", with: " AND i."))
                )
                """
            )
            defer { statement.reset() }
            statement.bind(1, last)
            statement.bind(2, reached)
            while try statement.step() {
                find(.index, "entry \(statement.integer(0)) is missing from the index '\(index.name)'")
            }
        }
    }

    // MARK: Bodies

    /// Examines chunks of a body.
    ///
    /// - Returns: whether the chunks are intact. Only the first missing or damaged chunk is
    ///   reported.
    @discardableResult
    private func examineChunks(of row: EntryRow, _ indices: Range<Int64>, _ connection: Connection) throws -> Bool {
        for index in indices {
            switch try StoredBody.chunk(connection, bodyID: row.bodyID, index: index, length: row.bodyLength) {
            case .whole(let bytes): report.examinedBytes += Int64(bytes.readableBytes)
            case .missing:
                find(.body, "chunk \(index) of the body of entry \(row.id) is missing", row)
                return false
            case .damaged:
                find(.body, "chunk \(index) of the body of entry \(row.id) is damaged", row)
                return false
            }
        }
        return true
    }

    /// Examines a large body in several snapshots, as long as its entry exists.
    private func examineLargeBody(_ row: EntryRow, _ connection: Connection) throws {
        let step = Self.snapshotBytes / Int64(StoreLimits.chunkLength)
        for first in stride(from: 0, to: row.chunkCount, by: Int64.Stride(step)) {
            let goesOn = try snapshot(connection) {
                let exists = try connection.integer(
                    "SELECT 1 FROM entry WHERE id = ?1 AND body_id = ?2 AND body_length = ?3",
                    row.id,
                    row.bodyID,
                    row.bodyLength
                )
                if exists == nil { return false }
                return try examineChunks(of: row, first..<min(first + step, row.chunkCount), connection)
            }
            if !goesOn { return }
        }
    }

    /// Examines chunks without an entry. Each must be listed in `garbage`; otherwise nothing would
    /// remove it.
    func examineOrphanedChunks(_ connection: Connection) throws {
        var last = Int64.min
        var isAtEnd = false
        while !isAtEnd {
            try snapshot(connection) {
                for _ in 0..<256 {
                    guard
                        let id = try connection.integer("SELECT id FROM chunk WHERE id > ?1 ORDER BY id LIMIT 1", last)
                    else {
                        isAtEnd = true
                        return
                    }
                    let bodyID = id >> 16
                    last = id | 0xffff
                    if try connection.integer("SELECT 1 FROM garbage WHERE body_id = ?1", bodyID) != nil { continue }
                    let length = try connection.integer(
                        "SELECT body_length FROM entry WHERE id = ?1 AND body_id = ?1",
                        bodyID
                    )
                    let count = EntryRow.chunkCount(length ?? 0)
                    let surplus = try connection.integer(
                        "SELECT count(*) FROM chunk WHERE id BETWEEN ?1 AND ?2",
                        bodyID << 16 | min(count, 0xffff),
                        count > 0xffff ? bodyID << 16 : last
                    )
                    guard let surplus, surplus > 0 else { continue }
                    if length == nil {
                        find(.orphan, "\(surplus) chunks of body \(bodyID) belong to no entry")
                    } else {
                        find(.orphan, "body \(bodyID) has \(surplus) more chunks than its length allows")
                    }
                }
            }
        }
    }
}
