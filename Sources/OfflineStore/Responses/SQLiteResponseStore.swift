import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import StoreFiles
import StoreMemory
import Synchronization

/// The response store that the cache engine uses.
final class SQLiteResponseStore: ResponseStore {
    let core: StoreCore

    init(core: StoreCore) {
        self.core = core
    }

    var invalidationSequence: InvalidationSequence {
        InvalidationSequence(core.lastInvalidation.number)
    }

    var changes: StoreChangeFeed { core.changes }

    /// Returns the responses in the memory tier; none if the key filter shows that nothing is
    /// stored, and `nil` if only the disk can tell.
    func resident(_ key: StoreKey) -> [StoredResponse]? {
        guard !core.isReadOnly, let state = try? core.database().state else { return nil }
        if case .found(let responses) = searchMemory(for: key, state) { return responses }
        return nil
    }

    @concurrent
    func lookup(_ key: StoreKey) async throws -> [StoredResponse] {
        try lookupInPlace(key)
    }

    var blockingLookup: (@Sendable (StoreKey) throws -> [StoredResponse])? { { try self.lookupInPlace($0) } }

    var immediateLookup: (@Sendable (StoreKey) -> [StoredResponse]?)? {
        if core.isReadOnly { return nil }
        return { self.lookupAtOnce($0) }
    }

    func shortID(of key: StoreKey) -> String? { core.shortID(of: key) }

    /// Counts a use in an outage once more: a miss would have cost a failed request, which counts
    /// as much as two fetches.
    func noteNeeded(_ response: StoredResponse) {
        guard !core.isReadOnly, let database = try? core.database() else { return }
        recordUse(response.id, database)
    }

    /// Writes suspend the caller, because the writer has its own thread.
    var suspendsWhileWriting: Bool { true }

    func lookupInPlace(_ key: StoreKey) throws -> [StoredResponse] {
        try core.withDatabase { try lookup(key, in: $0) }
    }

    private func lookup(_ key: StoreKey, in database: StoreDatabase) throws -> [StoredResponse] {
        switch searchMemory(for: key, database.state) {
        case .found(let responses): return responses
        case .missing(let missing):
            return try core.readEntry(database) { connection in
                let reading = EntryReading(core: core, database: database, connection: connection)
                return try readResponses(missing, reading) { recordUse($0, database) }
            }
        }
    }

    private func lookupAtOnce(_ key: StoreKey) -> [StoredResponse]? {
        guard let database = try? core.database() else { return nil }
        switch searchMemory(for: key, database.state) {
        case .found(let responses): return responses
        case .missing(let missing):
            return core.readEntryAtOnce(database) { connection in
                let reading = EntryReading(core: core, database: database, connection: connection, mayWait: false)
                return try readResponses(missing, reading) { recordUse($0, database) }
            }
        }
    }

    /// Returns the responses of some keys, in the order of the keys. Responses that are not in
    /// memory are read from one snapshot.
    func responses(of keys: [StoreKey]) throws -> [[StoredResponse]] {
        try core.withDatabase { try responses(of: keys, in: $0) }
    }

    private func responses(of keys: [StoreKey], in database: StoreDatabase) throws -> [[StoredResponse]] {
        var found: [[StoredResponse]] = []
        found.reserveCapacity(keys.count)
        var missing: [(index: Int, missing: Missing<StoreKey>)] = []
        for key in keys {
            switch searchMemory(for: key, database.state) {
            case .found(let responses): found.append(responses)
            case .missing(let one):
                missing.append((found.count, one))
                found.append([])
            }
        }
        if missing.isEmpty { return found }
        var used: [Int64] = []
        used.reserveCapacity(missing.count)
        try core.readEntry(database) { connection in
            let reading = EntryReading(core: core, database: database, connection: connection)
            for (index, missing) in missing { found[index] = try readResponses(missing, reading) { used.append($0) } }
        }
        recordUse(used, database)
        return found
    }

    /// A key that is not in memory, with the state read before the disk is read.
    private struct Missing<Key> {
        var key: Key
        var hash: Int64
        /// The number of the last invalidation.
        var sequence: Int64
        /// The values being written. They stay valid even if they are committed in the meantime,
        /// because the disk then has the same values.
        var written: [MemoryValue] = []
        /// The invalidations that are not on disk.
        var unwritten: UnwrittenInvalidations.Snapshot?
        var ticket: UInt64
    }

    private enum MemorySearch<Key, Found> {
        case found(Found)
        case missing(Missing<Key>)
    }

    private func searchMemory(for key: StoreKey, _ state: DatabaseState) -> MemorySearch<StoreKey, [StoredResponse]> {
        let hash = state.hash(key.bytes, .responseKey)
        // Read the number first. A response that is invalidated later may still be returned.
        let sequence = core.lastInvalidation.number
        // Read these values before memory and disk. A value that is committed in the meantime is
        // found there.
        let written = state.pending.values(
            key.bytes,
            hash: hash,
            sequence: sequence,
            known: state.known,
            wide: state.wideHashes(of: key)
        )
        let inMemory = state.memory?.responses(key, hash: hash, sequence: sequence, recency: state.recency)
        var found = inMemory?.value
        if !state.damage.isEmpty { found?.removeAll { state.damage.contains($0.id) } }
        if found == nil, state.filter?.mayContain(hash) == false { found = [] }
        if let found { return .found(written.isEmpty ? found : state.pending.merged(found, with: written)) }
        let ticket = inMemory?.ticket ?? 0
        return .missing(
            Missing(
                key: key,
                hash: hash,
                sequence: sequence,
                written: written,
                unwritten: state.unwritten.snapshot,
                ticket: ticket
            )
        )
    }

    /// Reads a key's responses from disk, and inserts them into memory.
    ///
    /// - Parameter noteUse: called with each entry that was read.
    private func readResponses(
        _ missing: Missing<StoreKey>,
        _ reading: EntryReading,
        noteUse: (Int64) -> Void
    ) throws -> [StoredResponse] {
        let state = reading.database.state
        var responses = try reading.responses(of: missing.key, hash: missing.hash)
        if let unwritten = missing.unwritten {
            responses = try unwritten.apply(to: responses, key: missing.key) {
                try reading.subject(of: [$0], key: missing.key, hash: missing.hash).tagHashes
            }
        }
        for index in responses.indices { noteUse(responses[index].id) }
        if let memory = state.memory, !responses.isEmpty,
            memory.admits(missing.hash, bytes: responses.reduce(0) { $0 + $1.bytes(upTo: memory.bodyLimit) })
        {
            let entry = MemoryEntry(
                key: missing.key.bytes,
                value: .responses(responses.map { $0.keepingBody(upTo: memory.bodyLimit) }),
                subject: try reading.subject(of: responses, key: missing.key, hash: missing.hash),
                sequence: missing.sequence
            )
            memory.insert(entry, hash: missing.hash, ticket: missing.ticket)
        }
        return missing.written.isEmpty ? responses : state.pending.merged(responses, with: missing.written)
    }

    // MARK: Objects

    /// Returns the object of a key.
    func object(of key: [UInt8]) throws -> EntryReading.FoundObject {
        try core.withDatabase { try object(of: key, in: $0) }
    }

    private func object(of key: [UInt8], in database: StoreDatabase) throws -> EntryReading.FoundObject {
        switch searchMemory(forObject: key, database.state) {
        case .found(let object): return object
        case .missing(let missing):
            return try core.readEntry(database) { connection in
                let reading = EntryReading(core: core, database: database, connection: connection)
                return try readObject(missing, reading) { recordUse($0, database) }
            }
        }
    }

    /// Returns the objects of some keys, in the order of the keys. Objects that are not in memory
    /// are read from one snapshot.
    func objects(of keys: [[UInt8]]) throws -> [EntryReading.FoundObject] {
        try core.withDatabase { try objects(of: keys, in: $0) }
    }

    private func objects(of keys: [[UInt8]], in database: StoreDatabase) throws -> [EntryReading.FoundObject] {
        var found: [EntryReading.FoundObject] = []
        found.reserveCapacity(keys.count)
        var missing: [(index: Int, missing: Missing<[UInt8]>)] = []
        for key in keys {
            switch searchMemory(forObject: key, database.state) {
            case .found(let object): found.append(object)
            case .missing(let one):
                missing.append((found.count, one))
                found.append(.none)
            }
        }
        if missing.isEmpty { return found }
        try core.readEntry(database) { connection in
            let reading = EntryReading(core: core, database: database, connection: connection)
            for (index, missing) in missing {
                found[index] = try readObject(missing, reading) { recordUse($0, database) }
            }
        }
        return found
    }

    private func searchMemory(forObject key: [UInt8], _ state: DatabaseState) -> MemorySearch<
        [UInt8], EntryReading.FoundObject
    > {
        let hash = state.hash(key, .objectKey)
        let sequence = core.lastInvalidation.number
        if case .object(let object)? = state.pending.values(key, hash: hash, sequence: sequence, known: state.known)
            .last
        {
            return .found(.object(object))
        }
        let inMemory = state.memory?.object(key, hash: hash, sequence: sequence, recency: state.recency)
        if let object = inMemory?.value { return .found(.object(object)) }
        if state.filter?.mayContain(hash) == false { return .found(.none) }
        return .missing(Missing(key: key, hash: hash, sequence: sequence, ticket: inMemory?.ticket ?? 0))
    }

    private func readObject(
        _ missing: Missing<[UInt8]>,
        _ reading: EntryReading,
        noteUse: (Int64) -> Void
    ) throws -> EntryReading.FoundObject {
        let found = try reading.object(of: missing.key, hash: missing.hash)
        guard case .object(let object) = found else { return found }
        noteUse(object.id)
        if let memory = reading.database.state.memory, object.bytes.count <= memory.bodyLimit,
            memory.admits(missing.hash, bytes: object.bytes.count)
        {
            let entry = MemoryEntry(
                object,
                key: missing.key,
                hash: missing.hash,
                sequence: missing.sequence
            )
            memory.insert(entry, hash: missing.hash, ticket: missing.ticket)
        }
        return found
    }

    // MARK: Refilling

    /// Reads some responses and objects into memory, without recording that they were used: see
    /// ``MemoryRefill``.
    func load(
        _ keys: [StoreKey],
        objects: [[UInt8]],
        in database: StoreDatabase,
        through readers: ReaderPool
    ) throws {
        // First, as in a lookup: an entry that changes after this is not inserted.
        let responses = keys.compactMap { key -> Missing<StoreKey>? in
            if case .missing(let missing) = searchMemory(for: key, database.state) { missing } else { nil }
        }
        let objects = objects.compactMap { key -> Missing<[UInt8]>? in
            if case .missing(let missing) = searchMemory(forObject: key, database.state) { missing } else { nil }
        }
        if responses.isEmpty, objects.isEmpty { return }
        try readers.read { connection in
            let reading = EntryReading(core: core, database: database, connection: connection)
            for missing in responses { _ = try readResponses(missing, reading) { _ in } }
            for missing in objects { _ = try readObject(missing, reading) { _ in } }
        }
    }

    // MARK: Bodies

    @concurrent
    func openBody(of response: StoredResponse, range: Range<Int64>?) async throws -> BodyStream? {
        if let body = response.content?.body { return BodyStream(body, range) }
        let database = try core.database()
        recordUse(response.id, database)
        return try StoredBody.open(
            core,
            database,
            entryID: response.id,
            bodyID: response.bodyID,
            length: response.bodyLength,
            range: range
        )
    }

    /// Records in memory that an entry was used. A read never writes to disk.
    func recordUse(_ entryID: Int64, _ database: StoreDatabase) {
        if database.writer != nil { database.state.recency.use(entryID) }
    }

    /// Records that some entries were used, in the order in which they were used.
    private func recordUse(_ entryIDs: [Int64], _ database: StoreDatabase) {
        if database.writer != nil { database.state.recency.use(entryIDs) }
    }

    @concurrent
    func beginWrite(_ draft: ResponseDraft, fencingNumber: InvalidationSequence) async throws -> (
        any StoredResponseWriter
    )? {
        try begin(draft, fencingNumber: fencingNumber)
    }

    /// Begins to store a response from the cache engine; returns `nil` if it cannot be stored now.
    private func begin(_ draft: ResponseDraft, fencingNumber: InvalidationSequence) throws -> (
        any StoredResponseWriter
    )? {
        if core.isReadOnly { return nil }
        let database = try core.database()
        // A store that was opened only for reading stores no responses. That is not an error.
        guard let writer = database.writer else { return nil }
        database.state.observe(draft.storedAt)
        let limits = database.state.limits
        if !draft.hasAcceptableTags { return nil }
        // The origin stated this length, so compare it with the limit before adding to it.
        let stated = draft.expectedLength?.bytes(upTo: limits.maximumObject)
        if draft.expectedLength != nil, stated == nil { return nil }
        let length = stated ?? 0
        let bytes = length + draft.head.storedBytes + draft.tagBytes
        if bytes > limits.maximumObject { return nil }
        if let quota = limits.quotas.tightest(for: draft), bytes > quota.bytes { return nil }
        if writer.logIsHeld.load(ordering: .relaxed) {
            // The reader that held the log may have finished. Only this sweep can find out while
            // all responses are declined.
            writer.requestSweep()
            return nil
        }
        // If the disk is full, decline the response now instead of after its head was stored.
        if !writer.admits(stated, at: draft.storedAt) { return nil }
        // If the disk is slow, the exchange continues without the store. Explicit calls wait
        // instead.
        if writer.pendingBytes > limits.pending { return nil }
        let room = limits.room(for: length)
        guard database.state.unfinished.reserve(room) else { return nil }
        return SQLiteResponseWriter(
            core: core,
            database: database,
            draft: draft,
            fencingNumber: fencingNumber,
            reserved: room
        )
    }

    @concurrent
    func freshen(
        _ response: StoredResponse,
        with draft: ResponseDraft,
        fencingNumber: InvalidationSequence
    ) async throws -> StoredResponse? {
        let database = try core.database()
        let bytes = draft.head.storedBytes + draft.tagBytes
        guard database.writer != nil, draft.hasAcceptableTags, bytes <= database.state.limits.maximumObject else {
            return nil
        }
        let entry = ResponseEntry(draft: draft, state: database.state)
        var freshened = response
        freshened.head = draft.head
        freshened.content = response.content.map {
            ResidentContent(body: $0.body, freshUntil: draft.freshUntil, derived: $0.derived)
        }
        var renewed = entry.draft(id: response.id, bodyID: response.bodyID, bodyLength: response.bodyLength)
        if freshened.content != nil {
            renewed.memoryEntry = { [freshened] sequence in entry.memoryEntry(freshened, sequence: sequence) }
        }
        let place = EntryRows(id: response.id, bodyID: response.bodyID, bodyLength: response.bodyLength)
        let isChanged = try await core.write(to: database, bytes: Int(draft.head.storedBytes + draft.tagLogBytes)) {
            [renewed] context in
            if try context.isInvalidated(after: fencingNumber, entry, freshening: place.id) { return false }
            return try context.freshen(place, with: renewed)
        }
        guard isChanged else { return nil }
        changes.publish(StoreChange(.freshened, .key(response.key), tags: draft.tags))
        return freshened
    }

    @concurrent
    @discardableResult
    func withdraw(_ response: StoredResponse) async throws -> Bool {
        let database = try core.database()
        guard database.writer != nil else { return false }
        let hash = database.state.hash(response.key.bytes, .responseKey)
        let wasThere = try await core.write(to: database, isDurable: true) { context in
            let places = try context.responses(by: "key_hash", hash) { $0 == response.key.bytes }
            guard let place = places.first(where: { $0.bodyID == response.bodyID }) else { return false }
            try context.remove(place)
            return true
        }
        if wasThere { changes.publish(StoreChange(.invalidated, .key(response.key))) }
        return wasThere
    }

    @concurrent
    @discardableResult
    func invalidate(_ scope: InvalidationScope, _ effect: InvalidationEffect, at now: Timestamp) async throws
        -> InvalidationSequence
    {
        InvalidationSequence(try await core.invalidate(scope, effect, at: now))
    }
}

extension BodyStream {
    /// Creates a stream of part of a body in memory; returns `nil` if the range is not within the
    /// body.
    init?(_ body: ByteBuffer, _ range: Range<Int64>?) {
        guard let range else {
            self.init(body)
            return
        }
        guard range.lowerBound >= 0, range.upperBound <= Int64(body.readableBytes),
            let part = body.getSlice(at: body.readerIndex + Int(range.lowerBound), length: range.count)
        else { return nil }
        self.init(part)
    }
}

extension StoredResponse {
    /// Returns the length of the body; 0 if the body is not in memory, or too large to be kept
    /// there.
    fileprivate func bytes(upTo limit: Int) -> Int {
        content?.body.map { $0.readableBytes > limit ? 0 : $0.readableBytes } ?? 0
    }

    /// Returns the response without its body in memory if the body is too large to keep.
    fileprivate func keepingBody(upTo limit: Int) -> StoredResponse {
        guard let content, let body = content.body, body.readableBytes > limit else { return self }
        var response = self
        response.content = ResidentContent(body: nil, freshUntil: content.freshUntil)
        return response
    }
}

extension StoredResponseHead {
    /// The approximate number of bytes that the head uses on disk, including its row.
    var storedBytes: Int64 {
        var bytes = 512
        for field in fields { bytes += field.name.rawName.utf8.count + field.value.utf8.count + 8 }
        for field in selectingFields { bytes += field.name.rawName.utf8.count + field.value.utf8.count + 8 }
        return Int64(bytes)
    }
}
