import HTTPCacheSemantics
import OfflineStore
import StoreFiles

/// A row in one of Holdfast's tables. It is recognized by its shape, because its location proves
/// little in a damaged file.
///
/// No two tables have rows of the same shape, with one exception: a chunk and a tag in schema 2. A
/// chunk's checksum distinguishes the two. Rows that have a checksum are verified here.
enum SourceRow {
    case schema(name: String, root: Int)
    case store(SourceStore)
    case entry(SourceEntry)
    case chunk(id: Int64, checksum: Int64, data: [UInt8])
    case damagedChunk
    case garbage(Int64)
    case tag(id: Int64, hash: Int64, name: [UInt8])
    case tagInvalidation(tagID: Int64, marked: Int64, removed: Int64)
    case unsafeTagInvalidation(tagID: Int64, number: Int64)
    case prefixInvalidation(sequence: Int64, prefix: [UInt8], isRemoval: Bool)
    /// A row of the invalidation log, which recovery does not need.
    case invalidation

    /// Lower row IDs belong to tags, whose numbers begin at 1. Body numbers begin above 2³⁶, so
    /// every chunk has a higher row ID.
    private static let firstChunkID: Int64 = 1 << 40

    init?(_ cell: TreePage.Cell) {
        guard let id = cell.rowID else { return nil }
        let values = cell.values
        switch values.count {
        case 1 where values[0].isNull: self = .garbage(id)
        case 2 where values[0].isNull:
            guard let number = values[1].integer else { return nil }
            self = .unsafeTagInvalidation(tagID: id, number: number)
        case 3 where values[0].isNull:
            switch (values[1], values[2]) {
            case (.integer(let checksum), .bytes(let data)):
                if XXHash64.hash(data, seed: UInt64(bitPattern: id)) == UInt64(bitPattern: checksum), !data.isEmpty,
                    data.count <= StoreLimits.chunkLength
                {
                    self = .chunk(id: id, checksum: checksum, data: data)
                } else if id >= Self.firstChunkID {
                    self = .damagedChunk
                } else {
                    self = .tag(id: id, hash: checksum, name: data)
                }
            case (.integer(let marked), .integer(let removed)):
                self = .tagInvalidation(tagID: id, marked: marked, removed: removed)
            case (.bytes(let prefix), .integer(let isRemoval)):
                self = .prefixInvalidation(sequence: id, prefix: prefix, isRemoval: isRemoval != 0)
            default: return nil
            }
        case 4 where values[0].isNull:
            switch (values[1], values[2], values[3]) {
            case (.integer(let hash), .bytes(let name), .integer): self = .tag(id: id, hash: hash, name: name)
            case (.integer, .integer, .integer): self = .invalidation
            default: return nil
            }
        case 5:
            guard let name = values[1].text, let root = values[3].integer else { return nil }
            self = .schema(name: name, root: Int(clamping: root))
        case 8...12:
            guard let store = SourceStore(id, values) else { return nil }
            self = .store(store)
        case 18...24:
            guard let entry = SourceEntry(id, values) else { return nil }
            self = .entry(entry)
        default: return nil
        }
    }
}

/// The row in the table `store`.
struct SourceStore {
    var secrets: StoreSecrets
    var nextID: Int64
    var sequence: Int64
    var responseLowWaterMark: Int64
    var objectLowWaterMark: Int64
    /// Entries with lower sequence numbers are treated as removed.
    var responseRemoved: Int64
    var objectRemoved: Int64

    init?(_ id: Int64, _ values: [RecordValue]) {
        guard id == 1, values[0].isNull, let key = values[1].bytes, key.count == 16,
            let credential = values[2].bytes, credential.count == 32, let nextID = values[3].integer,
            let sequence = values[4].integer, let responseLowWaterMark = values[6].integer,
            let objectLowWaterMark = values[7].integer
        else { return nil }
        secrets = StoreSecrets(key: key, credential: credential)
        self.nextID = nextID
        self.sequence = sequence
        self.responseLowWaterMark = responseLowWaterMark
        self.objectLowWaterMark = objectLowWaterMark
        responseRemoved = values.count > 8 ? values[8].integer ?? 0 : 0
        objectRemoved = values.count > 9 ? values[9].integer ?? 0 : 0
    }
}

/// A row in the table `entry`.
struct SourceEntry {
    var row: EntryRow
    var invalidation: InvalidationCause?
    var isUsableStale: Bool
    var isPinned: Bool
    var storedAt: Int64
    var expiresAt: Int64
    var lastUsedAt: Int64
    var recency: Int64

    init?(_ id: Int64, _ values: [RecordValue]) {
        let integers = values.map(\.integer)
        guard values[0].isNull, let kind = integers[1], let keyHash = integers[2], let key = values[3].bytes,
            let variant = values[4].bytes, integers[5] != nil || values[5].isNull, let sequence = integers[6],
            let isInvalidated = integers[7], let isUsableStale = integers[8], let isPinned = integers[9],
            let storedAt = integers[10], let expiresAt = integers[11], let lastUsedAt = integers[12],
            let recency = integers[13], let size = integers[14], let bodyID = integers[15],
            let bodyLength = integers[16], let head = values[17].bytes
        else { return nil }
        row = EntryRow(
            id: id,
            kind: kind,
            keyHash: keyHash,
            key: key,
            variant: variant,
            targetHash: integers[5],
            sequence: sequence,
            size: size,
            bodyID: bodyID,
            bodyLength: bodyLength,
            head: head
        )
        // The column follows 'is_damaged'; rows in older schemas have neither.
        let cause = values.count > 19 ? integers[19] ?? 0 : 0
        invalidation = InvalidationCause(isMarked: isInvalidated != 0, column: cause)
        self.isUsableStale = isUsableStale != 0
        self.isPinned = isPinned != 0
        self.storedAt = storedAt
        self.expiresAt = expiresAt
        self.lastUsedAt = lastUsedAt
        self.recency = recency
    }
}
