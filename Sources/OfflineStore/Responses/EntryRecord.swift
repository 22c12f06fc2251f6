import HTTPCache
package import HTTPCacheSemantics
import StoreFiles
import Synchronization

/// An entry as read from its row. Its head is still encoded.
struct EntryRecord: Sendable {
    var id: Int64
    var kind: EntryKind
    var keyHash: Int64
    var key: [UInt8]
    var invalidation: InvalidationCause?
    var isUsableStale: Bool
    var isPinned: Bool
    var storedAt: Timestamp
    var expiresAt: Timestamp
    var lastUsedAt: Timestamp
    var bodyID: Int64
    var bodyLength: Int64
    var head: [UInt8]
    /// Whether part of it was found to be damaged, so that it is no longer served.
    var isDamaged: Bool

    var binding: HeadBinding {
        HeadBinding(entryID: id, keyHash: keyHash, bodyID: bodyID, bodyLength: bodyLength)
    }

    fileprivate static let columns =
        "entry.id, kind, key_hash, key, sequence, is_invalidated, is_usable_stale, is_pinned, stored_at, expires_at, last_used_at, "
        + "body_id, body_length, head, "

    /// The column of the head in a row.
    static let headColumn: Int32 = 13
    /// The column of the first chunk's checksum, in a row that includes the chunk. The chunk's
    /// bytes are in the next column.
    static let chunkColumn: Int32 = 17

    /// The SQL of a statement that reads entries, for each schema version.
    struct Query: Sendable {
        private let text: String
        private let plainText: String
        private let textWithoutCauses: String
        private let plainTextWithoutCauses: String
        private let textWithoutPrefixes: String
        private let oldestText: String

        /// - Parameters:
        ///   - condition: the SQL after `WHERE`.
        ///   - columns: the entry's columns to read, with a trailing comma.
        ///   - readsFirstChunk: whether to read the body's first chunk in the same step, because a
        ///     second statement would take longer. SQLite loads the chunk's bytes only when they
        ///     are read.
        init(_ condition: String, columns: String = EntryRecord.columns, readsFirstChunk: Bool = false) {
            let chunk = readsFirstChunk ? ", checksum, data" : ""
            let join = readsFirstChunk ? " LEFT JOIN chunk ON chunk.id = entry.body_id << 16" : ""
            func select(_ state: String) -> String {
                "SELECT \(columns) \(state)\(chunk) FROM entry\(join) WHERE \(condition)"
            }
            text = select("\(PendingInvalidation.state), is_damaged, invalidation_cause")
            plainText = select("0, is_damaged, invalidation_cause")
            textWithoutCauses = select("\(PendingInvalidation.stateWithoutCauses), is_damaged, 0")
            plainTextWithoutCauses = select("0, is_damaged, 0")
            textWithoutPrefixes = select("\(PendingInvalidation.byTagWithoutCauses), 0, 0")
            oldestText = select("0, 0, 0")
        }

        /// Returns the SQL for a database's schema and its unfinished invalidations.
        func sql(_ state: DatabaseState) -> String {
            guard state.has(DatabaseState.sweepSchemaVersion) else {
                return state.has(DatabaseState.tagSchemaVersion) ? textWithoutPrefixes : oldestText
            }
            let mayHavePending = state.mayHavePending.load(ordering: .acquiring)
            if state.has(DatabaseState.causeSchemaVersion) { return mayHavePending ? text : plainText }
            return mayHavePending ? textWithoutCauses : plainTextWithoutCauses
        }
    }

    /// Creates a record from a row of a ``Query``; `nil` if the kind is unknown, or if the entry
    /// was removed but not swept yet.
    ///
    /// - Parameter readsBytes: `false` leaves the key and the head empty, for callers that read
    ///   them in place.
    init?(_ statement: SQLStatement, _ state: DatabaseState, readsBytes: Bool = true) {
        guard let kind = EntryKind(rawValue: statement.integer(1)) else { return nil }
        let pending = PendingInvalidation(statement.integer(14))
        if pending == .removed || statement.integer(4) < state.removalLowWaterMark(kind) { return nil }
        let lowWaterMark =
            switch kind {
            case .response: state.responseLowWaterMark.load(ordering: .acquiring)
            case .object: state.objectLowWaterMark.load(ordering: .acquiring)
            }
        id = statement.integer(0)
        self.kind = kind
        keyHash = statement.integer(2)
        key = readsBytes ? statement.bytes(3) : []
        invalidation = InvalidationCause.greatest(
            InvalidationCause(isMarked: statement.flag(5), column: statement.integer(16)),
            statement.integer(4) < lowWaterMark ? .unspecified : nil,
            pending.cause
        )
        isUsableStale = statement.flag(6)
        isPinned = statement.flag(7)
        storedAt = Timestamp(milliseconds: statement.integer(8))
        expiresAt = Timestamp(milliseconds: statement.integer(9))
        lastUsedAt = Timestamp(milliseconds: statement.integer(10))
        bodyID = statement.integer(11)
        bodyLength = statement.integer(12)
        head = readsBytes ? statement.bytes(13) : []
        isDamaged = statement.flag(15) || state.damage.contains(id)
    }

    /// The response; `nil` if its head or key is damaged.
    var response: StoredResponse? {
        guard kind == .response, let key = StoreKey(bytes: key),
            var head = StoredHeadCodec.decode(head, binding: binding)
        else { return nil }
        head.complete(invalidation, under: key)
        return StoredResponse(
            id: id,
            key: key,
            head: head,
            bodyID: bodyID,
            bodyLength: bodyLength,
            storedAt: storedAt
        )
    }

    /// The head of an object; `nil` if it is damaged.
    var objectHead: ObjectHead? {
        guard kind == .object else { return nil }
        return head.withUnsafeBytes { ObjectHeadCodec.decode($0, binding: binding) }
    }
}

extension StoredResponseHead {
    /// Adds facts from other columns of the head's row.
    ///
    /// A response in a principal's partition is served only to that principal, even if the program
    /// that stored the response did not record that.
    mutating func complete(_ invalidation: InvalidationCause?, under key: StoreKey) {
        invalidate(invalidation)
        if sharingBasis == .unrecorded, !key.isCommon { sharingBasis = .noCredentials }
    }
}

extension InvalidationCause {
    /// Creates the cause from the columns `is_invalidated` and `invalidation_cause`; returns `nil`
    /// if the entry is not marked. An unknown cause is treated as the strongest cause.
    package init?(isMarked: Bool, column: Int64) {
        guard isMarked else { return nil }
        self = Self(rawValue: column) ?? .unsafeMethod
    }

    /// Returns the strongest cause; `nil` if there is none.
    static func greatest(_ causes: Self?...) -> Self? { causes.compactMap(\.self).max() }
}
