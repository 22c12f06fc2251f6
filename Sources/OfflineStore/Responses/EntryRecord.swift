import HTTPCache
import HTTPCacheSemantics
import Synchronization

/// One entry as it was read, its head still encoded or decoded by kind.
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
    /// Something of it was found to be damaged: it answers no more.
    var isDamaged: Bool

    var binding: HeadBinding {
        HeadBinding(entryID: id, keyHash: keyHash, bodyID: bodyID, bodyLength: bodyLength)
    }

    fileprivate static let columns =
        "entry.id, kind, key_hash, key, sequence, is_invalidated, is_usable_stale, is_pinned, stored_at, expires_at, last_used_at, "
        + "body_id, body_length, head, "

    /// Where the head is in a row.
    static let headColumn: Int32 = 13
    /// Where the first chunk of the body is in a row that has it: checksum, then bytes.
    static let chunkColumn: Int32 = 17

    /// A statement that reads entries.
    struct Query: Sendable {
        private let text: String
        private let plainText: String
        private let textWithoutCauses: String
        private let plainTextWithoutCauses: String
        private let textWithoutPrefixes: String
        private let oldestText: String

        /// - Parameters:
        ///   - condition: what follows `WHERE`.
        ///   - columns: what is read of an entry, with a comma behind it.
        ///   - readsFirstChunk: of the body, where it has one, in the same step: a statement of its
        ///     own takes longer. Its bytes are touched only when they are asked for.
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

        /// Its text for the schema that a database has, and for what is unfinished in it.
        func sql(_ state: DatabaseState) -> String {
            guard state.has(DatabaseState.sweepSchemaVersion) else {
                return state.has(DatabaseState.tagSchemaVersion) ? textWithoutPrefixes : oldestText
            }
            let mayHavePending = state.mayHavePending.load(ordering: .acquiring)
            if state.has(DatabaseState.causeSchemaVersion) { return mayHavePending ? text : plainText }
            return mayHavePending ? textWithoutCauses : plainTextWithoutCauses
        }
    }

    /// From a row of a ``Query``; `nil` when its kind is unknown, or when it was removed and only
    /// not swept yet.
    ///
    /// - Parameter readsBytes: `false` leaves key and head empty, for who reads them where they
    ///   are.
    init?(_ statement: SQLStatement, _ state: DatabaseState, readsBytes: Bool = true) {
        guard let kind = EntryKind(rawValue: statement.integer(1)) else { return nil }
        let pending = PendingInvalidation(statement.integer(14))
        if pending == .removed || statement.integer(4) < state.removalFloor(kind) { return nil }
        let floor =
            switch kind {
            case .response: state.responseFloor.load(ordering: .acquiring)
            case .object: state.objectFloor.load(ordering: .acquiring)
            }
        id = statement.integer(0)
        self.kind = kind
        keyHash = statement.integer(2)
        key = readsBytes ? statement.bytes(3) : []
        invalidation = InvalidationCause.greatest(
            InvalidationCause(isMarked: statement.flag(5), column: statement.integer(16)),
            statement.integer(4) < floor ? .unspecified : nil,
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

    /// The response, `nil` when its head or key is damaged.
    var response: StoredResponse? {
        guard kind == .response, let key = CacheKey(bytes: key),
            var head = StoredHeadCodec.decode(head, binding: binding)
        else { return nil }
        head.invalidate(invalidation)
        return StoredResponse(
            id: id,
            key: key,
            head: head,
            bodyID: bodyID,
            bodyLength: bodyLength,
            storedAt: storedAt
        )
    }

    /// What is known of an object, `nil` when its head is damaged.
    var objectHead: ObjectHead? {
        guard kind == .object else { return nil }
        return head.withUnsafeBytes { ObjectHeadCodec.decode($0, binding: binding) }
    }
}

extension InvalidationCause {
    /// From the columns `is_invalidated` and `invalidation_cause`. A cause of which nothing is
    /// known counts as the one that says most.
    init?(isMarked: Bool, column: Int64) {
        guard isMarked else { return nil }
        self = Self(rawValue: column) ?? .unsafeMethod
    }

    /// The one that says most; `nil` where there is none.
    static func greatest(_ causes: Self?...) -> Self? { causes.compactMap(\.self).max() }
}
