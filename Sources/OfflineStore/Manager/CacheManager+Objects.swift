import HTTPCache
public import HTTPCacheSemantics
import Logging
import NIOCore
import Synchronization

/// Codable objects under keys of the caller's choice, apart from the responses.
extension CacheManager {
    /// Bytes of a key at most, as UTF-8.
    public static let maximumKeyLength = 4096

    /// Stores a value, in place of what the key held.
    ///
    /// It is committed when this returns.
    ///
    /// - Parameters:
    ///   - value: anything the coder encodes.
    ///   - key: 1 to 4,096 bytes of UTF-8, compared byte by byte.
    ///   - expiry: from when on ``object(_:forKey:coder:)`` no longer returns it; it stays readable
    ///     through ``storedObject(_:forKey:coder:)`` until it is removed or its room is needed. A
    ///     value that was stored while the clock was ahead is expired when the clock has been set
    ///     right, unless it never expires.
    ///   - coder: the configuration's unless told otherwise. Read with the same.
    /// - Throws: ``StoreError``: `notEncodable`, `tooLarge`, `invalidKey`, `readOnly`, `closed`,
    ///   `busy`, `full`, `io`. What the key held before is still there.
    @concurrent
    public func setObject<Value: Encodable & Sendable>(
        _ value: Value,
        forKey key: String,
        expiry: Expiry = .never,
        coder: (any ObjectCoder)? = nil
    ) async throws {
        let now = now()
        let database = try core.database()
        guard let writer = database.writer else { throw core.readOnlyError }
        let name = try Self.bytes(ofKey: key)
        await writer.admit()
        let encoding = Encoding(Value.self, coder ?? self.coder)
        let entry = try entry(value, key: key, name: name, at: now, expiry, encoding, database.state)
        try await store(entry, key: key, database)
    }

    /// How values of one type are encoded.
    struct Encoding {
        let coder: any ObjectCoder
        let head: ObjectHead

        init<Value>(_ type: Value.Type, _ coder: any ObjectCoder) {
            self.coder = coder
            head = ObjectHead(contentType: coder.contentType, typeName: "\(type)")
        }
    }

    /// A value, encoded, as what is about to be stored.
    func entry<Value: Encodable & Sendable>(
        _ value: Value,
        key: String,
        name: [UInt8],
        at now: Timestamp,
        _ expiry: Expiry,
        _ encoding: Encoding,
        _ state: DatabaseState
    ) throws -> ObjectEntry {
        let bytes: [UInt8]
        do {
            bytes = try encoding.coder.encode(value)
        } catch {
            throw StoreError(
                code: .notEncodable,
                message:
                    "The value of type '\(Value.self)' for the key '\(key)' cannot be encoded as \(encoding.head.contentType). "
                    + "What was stored before is unchanged; see the cause.",
                cause: error
            )
        }
        guard Int64(bytes.count) <= state.limits.maximumObject else {
            throw BodyWriter.tooLarge(
                "The object for the key '\(key)'",
                length: Int64(bytes.count),
                limits: state.limits
            )
        }
        return ObjectEntry(
            key: name,
            keyHash: state.hash(name, .objectKey),
            head: encoding.head,
            bytes: bytes,
            storedAt: now,
            expiresAt: expiry.instant(storedAt: now)
        )
    }

    /// Stores an object by itself.
    func store(_ entry: ObjectEntry, key: String, _ database: StoreDatabase) async throws {
        let state = database.state
        if let whole = entry.whole(isShown: true, state) { return try await core.write(whole, to: database) }
        let room = state.limits.room(for: Int64(entry.bytes.count))
        await state.unfinished.reserveInTurn(room)
        let body = BodyWriter(core: core, database: database, reserved: room) { "The object for the key '\(key)'" }
        try await body.append(ByteBuffer(bytes: entry.bytes))
        _ = try await body.finish(mayRunHere: true) { bodyID, _, _ in
            let draft = entry.draft(id: bodyID, residentLimit: state.limits.residentBody)
            return BodyWriter.Ending(draft: draft, value: bodyID, visibility: .pending) { _ in true }
        }
    }

    /// The live value of a key; `nil` when there is none, or it expired, or it does not decode as
    /// this type.
    ///
    /// A value that no longer decodes (the type changed) is reported to the logger and counted in
    /// ``statistics()``; its bytes stay.
    ///
    /// Without a `coder`, a value is decoded once for as long as its bytes are in memory: calls
    /// that ask for the same type get the same value, and, where that is a class, the same
    /// instance.
    ///
    /// - Throws: ``StoreError``: `invalidKey`, `closed`, `damaged`, `io`.
    @concurrent
    public func object<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self,
        forKey key: String,
        coder: (any ObjectCoder)? = nil
    ) async throws -> Value? {
        let now = now()
        guard let found = try await object(forKey: Self.bytes(ofKey: key)), !found.isExpired(at: now) else {
            return nil
        }
        return decode(type, found, key: key, coder: coder)
    }

    /// The value of a key whatever its age, with its times; `nil` when there is none, or it does
    /// not decode as this type.
    ///
    /// ```swift
    /// if let stored = try await store.storedObject(Feed.self, forKey: "feed") {
    ///     show(stored.value, note: stored.isExpired ? "as of \(stored.age)" : nil)
    /// }
    /// ```
    ///
    /// - Throws: ``StoreError``: `invalidKey`, `closed`, `damaged`, `io`.
    @concurrent
    public func storedObject<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self,
        forKey key: String,
        coder: (any ObjectCoder)? = nil
    ) async throws -> StoredObject<Value>? {
        let now = now()
        guard let found = try await object(forKey: Self.bytes(ofKey: key)),
            let value = decode(type, found, key: key, coder: coder)
        else { return nil }
        return found.stored(value, at: now)
    }

    /// The bytes of a key whatever their age and whatever type they were encoded from.
    ///
    /// - Throws: ``StoreError``: `invalidKey`, `closed`, `damaged`, `io`.
    @concurrent
    public func objectData(forKey key: String) async throws -> StoredObject<[UInt8]>? {
        let now = now()
        guard let found = try await object(forKey: Self.bytes(ofKey: key)) else { return nil }
        return found.stored(found.bytes, at: now)
    }

    /// Removes a key's value.
    ///
    /// It is gone, also after a power failure, when this returns: a value that was there takes a
    /// number of the invalidations with it.
    ///
    /// - Returns: whether there was one.
    /// - Throws: ``StoreError``: `invalidKey`, `readOnly`, `closed`, `full`, `io`.
    @concurrent
    @discardableResult
    public func removeObject(forKey key: String) async throws -> Bool {
        let now = now()
        let bytes = try Self.bytes(ofKey: key)
        return try await core.write(isDurable: true) { context in
            let hash = context.state.hash(bytes, .objectKey)
            let statement = try context.connection.prepare(
                "SELECT id, body_id, body_length, key FROM entry WHERE key_hash = ?1 AND kind = 1 AND sequence >= ?2"
            )
            statement.bind(1, hash)
            statement.bind(2, context.removalFloor(.object))
            var places: [EntryPlace] = []
            while try statement.step() {
                if statement.withBytes(3, { $0.elementsEqual(bytes) }) { places.append(EntryPlace(statement)) }
            }
            statement.reset()
            if places.isEmpty { return false }
            // A number of the sequence: a log that loses its tail must not bring the value back
            // unnoticed.
            _ = try context.nextInvalidation(.object, hash: hash, at: now)
            for place in places { try context.remove(place) }
            return true
        }
    }

    // MARK: Within

    static func bytes(ofKey key: String) throws -> [UInt8] {
        let bytes = Array(key.utf8)
        guard (1...maximumKeyLength).contains(bytes.count) else {
            throw StoreError(
                code: .invalidKey,
                message:
                    "An object's key has 1 to \(maximumKeyLength) bytes; this one has \(bytes.count). Choose another one."
            )
        }
        return bytes
    }

    /// The object of a key: from memory, else from the disk.
    private func object(forKey key: [UInt8]) async throws -> ResidentObject? {
        switch try store.object(of: key) {
        case .none: nil
        case .object(let object): object
        case .large(let record): try await large(record, key)
        }
    }

    /// The objects of some keys, in their order.
    func objects(forKeys keys: [[UInt8]]) async throws -> [ResidentObject?] {
        let found = try store.objects(of: keys)
        var objects: [ResidentObject?] = []
        objects.reserveCapacity(keys.count)
        for (key, found) in zip(keys, found) {
            switch found {
            case .none: objects.append(nil)
            case .object(let object): objects.append(object)
            case .large(let record): objects.append(try await large(record, key))
            }
        }
        return objects
    }

    /// The object of a key whose bytes are read chunk by chunk.
    private func large(_ record: EntryRecord, _ key: [UInt8]) async throws -> ResidentObject? {
        var record = record
        // A value that is replaced between finding it and reading the rest of it is looked for
        // again.
        for _ in 0..<64 {
            switch try await large(record) {
            case .found(let object): return object
            case .damaged: return nil
            case .gone: break
            }
            switch try store.object(of: key) {
            case .none: return nil
            case .object(let object): return object
            case .large(let next): record = next
            }
        }
        return nil
    }

    private enum LargeObject {
        case found(ResidentObject)
        case damaged
        case gone
    }

    /// Reads an object chunk by chunk.
    private func large(_ record: EntryRecord) async throws -> LargeObject {
        let database = try core.database()
        let damage = core.damagedReads.load(ordering: .relaxed)
        let body = try StoredBody.open(
            core,
            database,
            entryID: record.id,
            bodyID: record.bodyID,
            length: record.bodyLength
        )
        guard let body, let head = record.objectHead else {
            return core.damagedReads.load(ordering: .relaxed) == damage ? .gone : .damaged
        }
        let content = try await body.collect(upTo: Int(clamping: record.bodyLength))
        return .found(
            ResidentObject(
                id: record.id,
                storedAt: record.storedAt,
                expiresAt: record.expiresAt,
                isDistrusted: record.invalidation != nil,
                typeName: head.typeName,
                bytes: Array(content.readableBytesView)
            )
        )
    }

    static func resident(_ object: ResidentObject, key: [UInt8], hash: Int64, sequence: Int64) -> ResidentEntry {
        ResidentEntry(
            key: key,
            value: .object(object),
            subject: InvalidationSubject(keyHash: hash, targetHash: hash),
            sequence: sequence
        )
    }

    static let objectQuery = EntryRecord.Query("key_hash = ?1 AND kind = 1")

    /// The value, decoded once for as long as the bytes are in memory.
    func decode<Value: Decodable & Sendable>(
        _ type: Value.Type,
        _ object: ResidentObject,
        key: String,
        coder: (any ObjectCoder)?
    ) -> Value? {
        // What a coder that a call names would make of it is that call's own.
        if coder == nil, let value = object.derived.value(type) { return value }
        do {
            let value = try (coder ?? self.coder).decode(type, from: object.bytes)
            if coder == nil { object.derived.keep(value, bytes: MemoryLayout<Value>.size + 2 * object.bytes.count) }
            return value
        } catch {
            core.undecodableObjects.add(1, ordering: .relaxed)
            core.logger.notice(
                "a stored object does not decode as the type asked for; its bytes stay",
                metadata: [
                    "store.key": "\(key)", "store.stored-type": "\(object.typeName)",
                    "store.asked-type": "\(Value.self)",
                ]
            )
            return nil
        }
    }
}

extension ResidentObject {
    func isExpired(at now: Timestamp) -> Bool { isDistrusted || expiresAt.isOver(at: now, storedAt: storedAt) }

    /// Its value with its times.
    func stored<Value>(_ value: Value, at now: Timestamp) -> StoredObject<Value> {
        StoredObject(
            value: value,
            storedAt: storedAt,
            expiresAt: expiresAt == .distantFuture ? nil : expiresAt,
            isDistrusted: isDistrusted,
            at: now
        )
    }
}
