import HTTPCacheSemantics

/// Where a stored thing is: its row and its body.
struct EntryPlace {
    var id: Int64
    var bodyID: Int64
    var bodyLength: Int64

    init(id: Int64, bodyID: Int64, bodyLength: Int64) {
        self.id = id
        self.bodyID = bodyID
        self.bodyLength = bodyLength
    }

    /// From the first three columns of a row.
    init(_ statement: SQLStatement) {
        self.init(id: statement.integer(0), bodyID: statement.integer(1), bodyLength: statement.integer(2))
    }
}

/// What kind of thing an entry is, as the table says it.
enum EntryKind: Int64, Sendable {
    case response = 0
    case object = 1
}

/// An entry on its way into the table.
///
/// Everything that costs time is made here, outside the writer's transaction.
struct EntryDraft: Sendable {
    var id: Int64
    var kind: EntryKind
    var keyHash: Int64
    var key: [UInt8]
    var variant: [UInt8]
    var targetHash: Int64?
    var invalidation: InvalidationCause?
    var isUsableStale: Bool
    /// Kept from eviction. `false` takes no pin away.
    var isPinned = false
    var storedAt: Int64
    var expiresAt: Int64
    var bodyLength: Int64
    /// The head with its checksum.
    var head: [UInt8]
    var tags: [TagName] = []
    /// What memory keeps of it when it is stored and all there is under its key, given the number
    /// of the last invalidation.
    var resident: (@Sendable (Int64) -> ResidentEntry)?

    /// What it counts against the budget, in bytes.
    var size: Int64 {
        Int64(key.count + variant.count + head.count) + bodyLength + StoreLimits.entryOverhead
            + Int64(tags.count) * StoreLimits.tagOverhead
    }
}
