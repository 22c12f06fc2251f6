import HTTPCache
import HTTPCacheSemantics
import NIOCore
import Synchronization

/// Reads entries together with their small bodies: one snapshot, one visit to SQLite.
struct EntryReading {
    let core: StoreCore
    let database: StoreDatabase
    let connection: Connection

    private static let responseQuery = EntryRecord.Query("key_hash = ?1 AND kind = 0")
    private static let objectQuery = EntryRecord.Query("key_hash = ?1 AND kind = 1")

    private var state: DatabaseState { database.state }

    // MARK: Responses

    /// Octets of the bodies that are read along with their heads.
    private var residentLimit: Int64 {
        max(Int64(state.memory?.bodyLimit ?? 0), Int64(StoreLimits.chunkLength))
    }

    /// The responses of a key whose heads, and bodies as far as they are read along, are whole.
    func responses(of key: CacheKey, hash: Int64) throws -> [StoredResponse] {
        var responses: [StoredResponse] = []
        var expiries: [Timestamp] = []
        let statement = try connection.prepare(Self.responseQuery.sql(state))
        statement.bind(1, hash)
        while try statement.step() {
            guard statement.withOctets(3, { $0.elementsEqual(key.bytes) }),
                let record = EntryRecord(statement, state, readsOctets: false), !record.isDamaged
            else { continue }
            guard let response = response(key, record, statement) else {
                core.noteDamage("head", entryID: record.id, in: database)
                continue
            }
            responses.append(response)
            expiries.append(record.expiresAt)
        }
        statement.reset()
        // With many variants most are not what is asked for.
        let readsBodies = responses.reduce(0) { $0 + $1.bodyLength } <= residentLimit
        var damaged: Set<Int64> = []
        for index in responses.indices {
            var body: ByteBuffer?
            if readsBodies {
                guard
                    case .whole(let whole) = try self.body(responses[index].bodyID, length: responses[index].bodyLength)
                else {
                    damaged.insert(responses[index].id)
                    continue
                }
                body = whole
            }
            responses[index].content = ResidentContent(body: body, freshUntil: expiries[index])
        }
        if damaged.isEmpty { return responses }
        for id in damaged { core.noteDamage("body", entryID: id, in: database) }
        return responses.filter { !damaged.contains($0.id) }
    }

    /// The response of a row; `nil` when its head is damaged.
    private func response(_ key: CacheKey, _ record: EntryRecord, _ statement: SQLStatement) -> StoredResponse? {
        let head = statement.withOctets(EntryRecord.headColumn) {
            StoredHeadCodec.decode($0, binding: record.binding)
        }
        guard var head else { return nil }
        head.isInvalidated = head.isInvalidated || record.isInvalidated
        return StoredResponse(
            id: record.id,
            key: key,
            head: head,
            bodyID: record.bodyID,
            bodyLength: record.bodyLength,
            storedAt: record.storedAt
        )
    }

    /// What invalidations find some responses of one key by.
    func subject(of responses: [StoredResponse], key: CacheKey, hash: Int64) throws -> InvalidationSubject {
        let target = state.hash(key.components.target.canonicalBytes, .target)
        var subject = InvalidationSubject(keyHash: hash, targetHash: target)
        guard state.usesTags.load(ordering: .acquiring) else { return subject }
        let statement = try connection.prepare(
            "SELECT name_hash FROM entry_tag t CROSS JOIN tag ON tag.id = t.tag_id WHERE t.entry_id = ?1"
        )
        for response in responses {
            statement.bind(1, response.id)
            while try statement.step() { subject.tagHashes.append(statement.integer(0)) }
            statement.reset()
        }
        return subject
    }

    // MARK: Objects

    /// What is found under an object's key.
    enum FoundObject {
        case none
        case object(ResidentObject)
        /// Too large to be read in one go.
        case large(EntryRecord)
    }

    /// Octets of an object that is read at once.
    private static let objectLimit: Int64 = 1 << 20

    func object(of key: [UInt8], hash: Int64) throws -> FoundObject {
        let statement = try connection.prepare(Self.objectQuery.sql(state))
        defer { statement.reset() }
        statement.bind(1, hash)
        while try statement.step() {
            guard statement.withOctets(3, { $0.elementsEqual(key) }),
                var record = EntryRecord(statement, state, readsOctets: false), !record.isDamaged
            else { continue }
            let head = statement.withOctets(EntryRecord.headColumn) {
                ObjectHeadCodec.decode($0, binding: record.binding)
            }
            guard let head else {
                core.noteDamage("head", entryID: record.id, in: database)
                return .none
            }
            if record.bodyLength > Self.objectLimit {
                record.head = statement.octets(EntryRecord.headColumn)
                return .large(record)
            }
            guard case .whole(let body) = try body(record.bodyID, length: record.bodyLength) else {
                core.noteDamage("body", entryID: record.id, in: database)
                return .none
            }
            return .object(
                ResidentObject(
                    id: record.id,
                    storedAt: record.storedAt,
                    expiresAt: record.expiresAt,
                    isDistrusted: record.isInvalidated,
                    typeName: head.typeName,
                    octets: Array(body.readableBytesView)
                )
            )
        }
        return .none
    }

    // MARK: Bodies

    private func body(_ bodyID: Int64, length: Int64) throws -> StoredBody.Chunk {
        let size = Int64(StoreLimits.chunkLength)
        if length == 0 { return .whole(ByteBuffer()) }
        if length <= size { return try StoredBody.chunk(connection, bodyID: bodyID, index: 0, length: length) }
        var whole = ByteBuffer()
        whole.reserveCapacity(Int(length))
        for index in 0...(length - 1) / size {
            let chunk = try StoredBody.chunk(connection, bodyID: bodyID, index: index, length: length)
            guard case .whole(let octets) = chunk else { return chunk }
            whole.writeImmutableBuffer(octets)
        }
        return .whole(whole)
    }
}
