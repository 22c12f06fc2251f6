import HTTPCache
import HTTPCacheSemantics
import StoreFiles
import Synchronization

/// The part of a response's row that a lookup reads. It is small because each column costs time,
/// and a lookup takes microseconds.
struct ResponseRow {
    let id: Int64
    let invalidation: InvalidationCause?
    let storedAt: Timestamp
    let expiresAt: Timestamp
    let body: BodyColumns
    /// Whether part of it was found to be damaged, so that it is no longer served.
    let isDamaged: Bool

    /// The query for the rows of a key hash.
    static let query = EntryRecord.Query(
        "key_hash = ?1 AND kind = 0",
        columns: "entry.id, sequence, is_invalidated, stored_at, expires_at, body_id, body_length, key, head, ",
        readsFirstChunk: true
    )
    static let keyColumn: Int32 = 7
    static let headColumn: Int32 = 8
    private static let stateColumn: Int32 = 9
    private static let damagedColumn: Int32 = 10
    private static let causeColumn: Int32 = 11
    private static let chunkColumn: Int32 = 12

    /// - Returns: `nil` if the entry was removed but not swept yet.
    init?(_ statement: SQLStatement, _ state: DatabaseState) {
        let sequence = statement.integer(1)
        let pending = PendingInvalidation(statement.integer(Self.stateColumn))
        if pending == .removed || sequence < state.removalLowWaterMark(.response) { return nil }
        id = statement.integer(0)
        let isMarked = statement.flag(2)
        if isMarked || pending != .none || sequence < state.responseLowWaterMark.load(ordering: .acquiring) {
            let cause = InvalidationCause(isMarked: isMarked, column: statement.integer(Self.causeColumn))
            invalidation = InvalidationCause.greatest(cause, pending.cause, .unspecified)
        } else {
            invalidation = nil
        }
        storedAt = Timestamp(milliseconds: statement.integer(3))
        expiresAt = Timestamp(milliseconds: statement.integer(4))
        body = BodyColumns(id: statement.integer(5), length: statement.integer(6), chunkColumn: Self.chunkColumn)
        isDamaged = statement.flag(Self.damagedColumn) || state.damage.contains(id)
    }

    func binding(keyHash: Int64) -> HeadBinding {
        HeadBinding(entryID: id, keyHash: keyHash, bodyID: body.id, bodyLength: body.length)
    }
}

/// A body whose first chunk is part of a row being read.
struct BodyColumns {
    let id: Int64
    let length: Int64
    /// The column of the first chunk's checksum. The chunk's bytes are in the next column.
    let chunkColumn: Int32
}
