import HTTPCacheSemantics
package import StoreFiles

/// A row of the table `entry` as read, without any verification.
package struct EntryRow {
    package var id: Int64
    package var kind: Int64
    package var keyHash: Int64
    package var key: [UInt8]
    package var variant: [UInt8]
    package var targetHash: Int64?
    package var sequence: Int64
    package var size: Int64
    package var bodyID: Int64
    package var bodyLength: Int64
    package var head: [UInt8]

    package init(
        id: Int64,
        kind: Int64,
        keyHash: Int64,
        key: [UInt8],
        variant: [UInt8],
        targetHash: Int64?,
        sequence: Int64,
        size: Int64,
        bodyID: Int64,
        bodyLength: Int64,
        head: [UInt8]
    ) {
        self.id = id
        self.kind = kind
        self.keyHash = keyHash
        self.key = key
        self.variant = variant
        self.targetHash = targetHash
        self.sequence = sequence
        self.size = size
        self.bodyID = bodyID
        self.bodyLength = bodyLength
        self.head = head
    }

    /// The columns that an ``EntryRow`` is read from.
    package static let columns =
        "id, kind, key_hash, key, variant, target_hash, sequence, size, body_id, body_length, head, target_hash IS NULL"

    package var binding: HeadBinding {
        HeadBinding(entryID: id, keyHash: keyHash, bodyID: bodyID, bodyLength: bodyLength)
    }

    package var redactedURI: String? {
        kind == EntryKind.response.rawValue ? StoreKey(bytes: key)?.components.target.redacted : nil
    }

    package var chunkCount: Int64 { Self.chunkCount(bodyLength) }

    /// Returns the number of chunks of a body, for any length that a damaged row may contain.
    static func chunkCount(_ bodyLength: Int64) -> Int64 {
        let (whole, rest) = bodyLength.quotientAndRemainder(dividingBy: Int64(StoreLimits.chunkLength))
        return max(0, rest > 0 ? whole + 1 : whole)
    }

    /// Returns the size that an entry should have.
    package static func size(key: Int, variant: Int, head: Int, bodyLength: Int64, tags: Int64) -> Int64 {
        Int64(key + variant + head) + bodyLength + StoreLimits.entryOverhead + tags * StoreLimits.tagOverhead
    }
}

extension EntryRow {
    /// Creates a row from ``columns``.
    package init(_ statement: SQLStatement) {
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
