import HTTPCache
import HTTPCacheSemantics
import NIOCore
import StoreFiles
import StoreMemory
import Synchronization

/// Reads entries together with their small bodies, in one snapshot and with one statement.
struct EntryReading {
    let core: StoreCore
    let database: StoreDatabase
    let connection: Connection
    /// Whether the caller's thread may wait, and work for longer than one small response takes.
    var mayWait = true

    /// Thrown if a thread that may wait must read a response.
    struct NeedsThread: Error {}

    private static let objectQuery = EntryRecord.Query("key_hash = ?1 AND kind = 1", readsFirstChunk: true)

    private var state: DatabaseState { database.state }

    // MARK: Responses

    /// The maximum total length of bodies that are read together with their heads, in bytes.
    private var inlineBodyLimit: Int64 {
        mayWait
            ? max(Int64(state.memory?.bodyLimit ?? 0), Int64(StoreLimits.chunkLength))
            : Int64(StoreLimits.chunkLength)
    }

    /// Reports a damaged entry, if the caller may wait for that.
    private func noteDamage(_ part: StaticString, entryID: Int64) throws {
        if !mayWait { throw NeedsThread() }
        core.noteDamage(part, entryID: entryID, in: database)
    }

    /// Returns the responses of a key whose heads are intact, and whose bodies, if they are read,
    /// are also intact.
    func responses(of key: StoreKey, hash: Int64) throws -> [StoredResponse] {
        var responses: [StoredResponse] = []
        // If there are many variants, most are not needed. Once their total length exceeds the
        // limit, no more bodies are read here.
        let limit = inlineBodyLimit
        var length: Int64 = 0
        let statement = try connection.prepare(ResponseRow.query.sql(state))
        defer { statement.reset() }
        statement.bind(1, hash)
        while try statement.step() {
            guard statement.hasBytes(ResponseRow.keyColumn, key.bytes), let row = ResponseRow(statement, state),
                !row.isDamaged
            else { continue }
            guard let head = head(row, statement, of: key, keyHash: hash) else {
                try noteDamage("head", entryID: row.id)
                continue
            }
            // A damaged row may contain any number.
            let (sum, overflow) = length.addingReportingOverflow(row.body.length)
            length = overflow ? .max : sum
            if length > limit, !mayWait { throw NeedsThread() }
            var body: ByteBuffer?
            if length <= limit {
                body = try self.body(row.body, statement)
                if body == nil {
                    try noteDamage("body", entryID: row.id)
                    continue
                }
            }
            responses.append(
                StoredResponse(
                    id: row.id,
                    key: key,
                    head: head,
                    bodyID: row.body.id,
                    bodyLength: row.body.length,
                    storedAt: row.storedAt,
                    content: ResidentContent(body: body, freshUntil: row.expiresAt)
                )
            )
        }
        if length > limit {
            for index in responses.indices where responses[index].content?.body != nil {
                let freshUntil = responses[index].freshUntil
                responses[index].content = ResidentContent(body: nil, freshUntil: freshUntil)
            }
        }
        return responses
    }

    /// Returns the head of a row's response; `nil` if it is damaged.
    private func head(
        _ row: ResponseRow,
        _ statement: SQLStatement,
        of key: StoreKey,
        keyHash: Int64
    ) -> StoredResponseHead? {
        var head = statement.withBytes(ResponseRow.headColumn) {
            StoredHeadCodec.decode($0, binding: row.binding(keyHash: keyHash))
        }
        head?.complete(row.invalidation, under: key)
        return head
    }

    /// Returns the hashes by which invalidations match some responses of one key.
    func subject(of responses: [StoredResponse], key: StoreKey, hash: Int64) throws -> InvalidationSubject {
        let target = state.hash(key.outline.canonicalTarget, .target)
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

    /// The result of looking up an object's key.
    enum FoundObject {
        case none
        case object(LoadedObject)
        /// An object that is too large to be read at once.
        case large(EntryRecord)
    }

    /// The maximum length of an object that is read at once, in bytes.
    private static let objectLimit: Int64 = 1 << 20

    func object(of key: [UInt8], hash: Int64) throws -> FoundObject {
        let statement = try connection.prepare(Self.objectQuery.sql(state))
        defer { statement.reset() }
        statement.bind(1, hash)
        while try statement.step() {
            guard statement.hasBytes(3, key),
                var record = EntryRecord(statement, state, readsBytes: false), !record.isDamaged
            else { continue }
            let head = statement.withBytes(EntryRecord.headColumn) {
                ObjectHeadCodec.decode($0, binding: record.binding)
            }
            guard let head else {
                core.noteDamage("head", entryID: record.id, in: database)
                return .none
            }
            if record.bodyLength > Self.objectLimit {
                record.head = statement.bytes(EntryRecord.headColumn)
                return .large(record)
            }
            let body = BodyColumns(
                id: record.bodyID,
                length: record.bodyLength,
                chunkColumn: EntryRecord.chunkColumn
            )
            guard let bytes = try bytes(body, statement) else {
                core.noteDamage("body", entryID: record.id, in: database)
                return .none
            }
            return .object(LoadedObject(record, head, bytes: bytes))
        }
        return .none
    }

    // MARK: Bodies

    /// Returns the bytes of a row's body; `nil` if they are missing or damaged.
    private func bytes(_ body: BodyColumns, _ statement: SQLStatement) throws -> [UInt8]? {
        if body.length == 0 { return [] }
        if body.length <= Int64(StoreLimits.chunkLength) {
            return withFirstChunk(body, statement) { [UInt8]($0) }
        }
        return try self.body(body, statement).map { Array($0.readableBytesView) }
    }

    /// Returns a row's body; `nil` if it is missing or damaged.
    private func body(_ body: BodyColumns, _ statement: SQLStatement) throws -> ByteBuffer? {
        if body.length == 0 { return ByteBuffer() }
        if body.length <= Int64(StoreLimits.chunkLength) {
            return withFirstChunk(body, statement) { StoredBody.buffer($0) }
        }
        var whole = ByteBuffer()
        whole.reserveCapacity(Int(body.length))
        guard withFirstChunk(body, statement, { whole.writeBytes($0) }) != nil else { return nil }
        for index in 1...(body.length - 1) / Int64(StoreLimits.chunkLength) {
            let chunk = try StoredBody.chunk(connection, bodyID: body.id, index: index, length: body.length)
            guard case .whole(let bytes) = chunk else { return nil }
            whole.writeImmutableBuffer(bytes)
        }
        return whole
    }

    private func withFirstChunk<Result>(
        _ body: BodyColumns,
        _ statement: SQLStatement,
        _ take: (UnsafeRawBufferPointer) -> Result
    ) -> Result? {
        StoredBody.withChunk(
            statement,
            column: body.chunkColumn,
            id: body.id << 16,
            length: min(body.length, Int64(StoreLimits.chunkLength)),
            take
        )
    }
}
