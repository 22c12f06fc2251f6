import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Synchronization

/// The engine's door to the store.
final class SQLiteResponseStore: ResponseStore {
    let core: StoreCore

    init(core: StoreCore) {
        self.core = core
    }

    var invalidationSequence: InvalidationSequence {
        InvalidationSequence(core.sequence.load(ordering: .acquiring))
    }

    var changes: StoreChangeFeed { core.changes }

    /// There is no memory tier yet.
    func resident(_ key: CacheKey) -> [StoredResponse]? { nil }

    @concurrent
    func lookup(_ key: CacheKey) async throws -> [StoredResponse] {
        try records(of: key).compactMap(\.response)
    }

    /// The records of a key whose heads are whole.
    func records(of key: CacheKey) throws -> [(record: EntryRecord, response: StoredResponse)] {
        var (found, database) = try core.read {
            connection,
            database -> ([(EntryRecord, StoredResponse?)], StoreDatabase) in
            let statement = try connection.prepare(Self.lookupQuery.sql(database.state))
            defer { statement.reset() }
            statement.bind(1, database.state.hash(key.bytes, .responseKey))
            var found: [(EntryRecord, StoredResponse?)] = []
            while try statement.step() {
                guard statement.withOctets(3, { $0.elementsEqual(key.bytes) }),
                    let record = EntryRecord(statement, database.state), !record.isDamaged
                else { continue }
                found.append((record, record.response(for: key)))
            }
            return (found, database)
        }
        for (record, response) in found {
            if response == nil {
                core.noteDamage("head", entryID: record.id, in: database)
            } else {
                use(record.id, database)
            }
        }
        found.removeAll { $0.1 == nil }
        return found.compactMap { record, response in response.map { (record, $0) } }
    }

    private static let lookupQuery = EntryRecord.Query("key_hash = ?1 AND kind = 0")

    @concurrent
    func openBody(of response: StoredResponse, range: Range<Int64>?) async throws -> BodyStream? {
        let database = try core.database()
        use(response.id, database)
        return try StoredBody.open(
            core,
            database,
            entryID: response.id,
            bodyID: response.bodyID,
            length: response.bodyLength,
            range: range
        )
    }

    /// Notes that an entry was used.
    ///
    /// In memory: a read never writes.
    func use(_ entryID: Int64, _ database: StoreDatabase) {
        guard let writer = database.writer else { return }
        if database.state.recency.use(entryID) { writer.requestSweep() }
    }

    @concurrent
    func beginWrite(_ draft: ResponseDraft, fence: InvalidationSequence) async throws -> (any ResponseWriter)? {
        try begin(draft, fence: fence)
    }

    /// Begins to store a response of the engine's, or says that now is not the time.
    private func begin(_ draft: ResponseDraft, fence: InvalidationSequence) throws -> (any ResponseWriter)? {
        let database = try core.database()
        // Opened for reading alone: what passes is not stored, and that is no failure.
        guard let writer = database.writer else { return nil }
        database.state.observe(draft.storedAt)
        let limits = database.state.limits
        let length = draft.expectedLength ?? 0
        if !draft.hasAcceptableTags { return nil }
        if length + draft.head.storedOctets + draft.tagOctets > limits.maximumObject { return nil }
        if writer.logIsHeld.load(ordering: .relaxed) { return nil }
        // The disk is behind: the exchange goes on without the store. What the caller asks for itself waits instead.
        if writer.pendingBytes > limits.pending { return nil }
        let room = limits.room(for: length)
        guard database.state.unfinished.reserve(room) else { return nil }
        return SQLiteResponseWriter(core: core, database: database, draft: draft, fence: fence, reserved: room)
    }

    @concurrent
    func freshen(
        _ response: StoredResponse,
        with draft: ResponseDraft,
        fence: InvalidationSequence
    ) async throws -> StoredResponse? {
        let database = try core.database()
        let octets = draft.head.storedOctets + draft.tagOctets
        guard database.writer != nil, draft.hasAcceptableTags, octets <= database.state.limits.maximumObject else {
            return nil
        }
        let entry = ResponseEntry(draft: draft, state: database.state)
        let place = EntryPlace(id: response.id, bodyID: response.bodyID, bodyLength: response.bodyLength)
        let isChanged = try await core.write(to: database, bytes: Int(draft.head.storedOctets + draft.tagLogOctets)) {
            context in
            if try context.isInvalidated(after: fence, entry, freshening: place.id) { return false }
            return try context.freshen(place, with: entry.draft(bodyLength: place.bodyLength))
        }
        guard isChanged else { return nil }
        changes.publish(StoreChange(.freshened, .key(response.key), tags: draft.tags))
        var freshened = response
        freshened.head = draft.head
        return freshened
    }

    @concurrent
    @discardableResult
    func invalidate(_ scope: InvalidationScope, keepingForOffline: Bool, at now: Timestamp) async throws
        -> InvalidationSequence
    {
        try core.database().state.observe(now)
        if core.isReadOnly { throw core.readOnlyError }
        // Also when it throws: it may be in force and only not promised.
        defer { changes.publish(StoreChange(.invalidated, scope)) }
        let operation: @Sendable (WriteContext) throws -> Int64 = {
            try $0.invalidate(scope, keepingForOffline: keepingForOffline, at: now)
        }
        do {
            return InvalidationSequence(try await core.write(isDurable: true, operation))
        } catch let error as StoreError where error.code == .damaged {
            // There is a new, empty database now; the number has to be taken all the same, so that running fills notice.
            return InvalidationSequence(try await core.write(isDurable: true, operation))
        }
    }
}

extension EntryRecord {
    /// The response, when the key is known already.
    fileprivate func response(for key: CacheKey) -> StoredResponse? {
        guard var head = StoredHeadCodec.decode(head, binding: binding) else { return nil }
        head.isInvalidated = head.isInvalidated || isInvalidated
        return StoredResponse(id: id, key: key, head: head, bodyID: bodyID, bodyLength: bodyLength, storedAt: storedAt)
    }
}

extension StoredResponseHead {
    /// About what the head takes on disk, the row around it included.
    var storedOctets: Int64 {
        let lengths = [fields, selectingFields].joined().reduce(0) {
            $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 8
        }
        return Int64(lengths) + 512
    }
}
