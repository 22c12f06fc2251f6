import HTTPCacheSemantics
import StoreFiles
import StoreMemory

/// The numbers of an entry's row and its body.
struct EntryRows {
    var id: Int64
    var bodyID: Int64
    var bodyLength: Int64

    init(id: Int64, bodyID: Int64, bodyLength: Int64) {
        self.id = id
        self.bodyID = bodyID
        self.bodyLength = bodyLength
    }

    /// Reads the numbers from the first three columns of a row.
    init(_ statement: SQLStatement) {
        self.init(id: statement.integer(0), bodyID: statement.integer(1), bodyLength: statement.integer(2))
    }
}

/// The kind of an entry, as the table stores it.
package enum EntryKind: Int64, Sendable {
    case response = 0
    case object = 1
}

/// An entry that is about to be inserted.
///
/// All expensive work is done here, outside the writer's transaction.
struct EntryDraft: Sendable {
    var id: Int64
    var kind: EntryKind
    var keyHash: Int64
    var key: [UInt8]
    var variant: [UInt8]
    var targetHash: Int64?
    var invalidation: InvalidationCause?
    var isUsableStale: Bool
    /// Whether to pin the entry. `false` removes no existing pin.
    var isPinned = false
    var storedAt: Int64
    var expiresAt: Int64
    var bodyLength: Int64
    /// The head with its checksum.
    var head: [UInt8]
    var tags: [TagName] = []
    /// Creates the copy for the memory tier, given the number of the last invalidation. It is used
    /// if the entry becomes the only one for its key.
    var memoryEntry: (@Sendable (Int64) -> MemoryEntry)?

    /// The bytes of the budget that the entry uses.
    var size: Int64 {
        Int64(key.count + variant.count + head.count) + bodyLength + StoreLimits.entryOverhead
            + Int64(tags.count) * StoreLimits.tagOverhead
    }
}

extension EntryKind {
    /// Returns whether an encoding in the table `prefix_invalidation` covers the key of an entry of
    /// this kind.
    package func covers(_ key: UnsafeRawBufferPointer, byPrefix encoding: UnsafeRawBufferPointer) -> Bool {
        switch self {
        case .response: TargetPrefix.covers(prefix: encoding, key: key)
        case .object: ObjectPrefix.covers(encoding, key)
        }
    }
}
