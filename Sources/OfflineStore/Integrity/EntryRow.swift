import HTTPCacheSemantics

/// A row of the table `entry` as it was read, without any verification.
struct EntryRow {
    var id: Int64
    var kind: Int64
    var keyHash: Int64
    var key: [UInt8]
    var variant: [UInt8]
    var targetHash: Int64?
    var sequence: Int64
    var size: Int64
    var bodyID: Int64
    var bodyLength: Int64
    var head: [UInt8]

    /// The columns that an ``EntryRow`` is read from.
    static let columns =
        "id, kind, key_hash, key, variant, target_hash, sequence, size, body_id, body_length, head, target_hash IS NULL"

    var binding: HeadBinding {
        HeadBinding(entryID: id, keyHash: keyHash, bodyID: bodyID, bodyLength: bodyLength)
    }

    var redactedURI: String? {
        kind == EntryKind.response.rawValue ? CacheKey(bytes: key)?.components.target.redacted : nil
    }

    var chunkCount: Int64 { (bodyLength + Int64(StoreLimits.chunkLength) - 1) / Int64(StoreLimits.chunkLength) }

    /// Returns the size that an entry should have.
    static func size(key: Int, variant: Int, head: Int, bodyLength: Int64, tags: Int64) -> Int64 {
        Int64(key + variant + head) + bodyLength + StoreLimits.entryOverhead + tags * StoreLimits.tagOverhead
    }
}

extension EntryRow {
    /// Makes a row from ``columns``.
    init(_ statement: SQLStatement) {
        id = statement.integer(0)
        kind = statement.integer(1)
        keyHash = statement.integer(2)
        key = statement.bytes(3)
        variant = statement.bytes(4)
        targetHash = statement.flag(11) ? nil : statement.integer(5)
        sequence = statement.integer(6)
        size = statement.integer(7)
        bodyID = statement.integer(8)
        bodyLength = statement.integer(9)
        head = statement.bytes(10)
    }
}
