import HTTPCache
public import HTTPCacheSemantics
import Logging
import NIOCore
import StoreFiles
import StoreMemory
import Synchronization

/// Codable objects under keys that the caller chooses. They are separate from the responses.
extension CacheManager {
    /// The maximum length of a key, in bytes of UTF-8.
    public static let maximumKeyLength = 4096

    /// Stores a value. It replaces the value that the key had.
    ///
    /// The value is committed when this returns.
    ///
    /// - Parameters:
    ///   - value: any value that the coder can encode.
    ///   - key: 1 to 4,096 bytes of UTF-8, compared byte by byte.
    ///   - expiry: the instant from which ``object(_:forKey:coder:)`` no longer returns the value.
    ///     ``storedObject(_:forKey:coder:)`` returns it until it is removed or its space is needed.
    ///     A value stored while the clock was ahead expires when the clock is corrected, unless it
    ///     never expires.
    ///   - coder: the configuration's coder by default. Read the value with the same coder.
    /// - Throws: ``StoreError``: `notEncodable`, `tooLarge`, `invalidKey`, `readOnly`, `closed`,
    ///   `busy`, `full`, `io`. After an error, the key keeps its old value.
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

    /// The coder, and the object head for values of one type.
    struct Encoding {
        let coder: any ObjectCoder
        let head: ObjectHead

        init<Value>(_ type: Value.Type, _ coder: any ObjectCoder) {
            self.coder = coder
            head = ObjectHead(contentType: coder.contentType, typeName: "\(type)")
        }
    }

    /// Encodes a value and returns the entry to store.
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
                    + "A value that was already stored is unchanged. See the cause.",
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

    /// Stores one object in its own transaction.
    ///
    /// - Parameter isAllowed: whether to store an object that is too large for a shared
    ///   transaction; called within the transaction.
    func store(
        _ entry: ObjectEntry,
        key: String,
        _ database: StoreDatabase,
        if isAllowed: @escaping @Sendable (WriteContext) throws -> Bool = { _ in true }
    ) async throws {
        // Publish the change even after a failure: a watcher may have seen the value before its
        // commit.
        defer { core.objectChanges.publish(.object(key: entry.key)) }
        let state = database.state
        if let whole = entry.whole(isVisibleBeforeCommit: true, state) {
            return try await core.writeEntry(whole, to: database)
        }
        let room = state.limits.room(for: Int64(entry.bytes.count))
        await state.unfinished.reserveInTurn(room)
        let body = BodyWriter(core: core, database: database, reserved: room) { "The object for the key '\(key)'" }
        try await body.append(ByteBuffer(bytes: entry.bytes))
        _ = try await body.finish(mayRunHere: true) { bodyID, _, _ in
            let draft = entry.draft(id: bodyID, residentLimit: state.limits.residentBody)
            return BodyWriter.Ending(draft: draft, value: bodyID, visibility: .pending, isAllowed: isAllowed)
        }
    }

    /// Returns the live value of a key; `nil` if there is none, if it has expired, or if it does
    /// not decode as this type.
    ///
    /// A value that does not decode (because the type has changed) is logged and counted in
    /// ``statistics()``. Its bytes stay.
    ///
    /// Without a `coder`, a value is decoded only once as long as its bytes are in memory. Later
    /// calls for the same type return the same value (for a class, the same instance).
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

    /// Returns the value of a key at any age, with its times; `nil` if there is none, or if it does
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

    /// Returns the bytes of a key's value at any age and of any type.
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
    /// The removal is durable when this returns: it survives a power failure. Removing an existing
    /// value takes the next invalidation number.
    ///
    /// - Returns: whether there was a value.
    /// - Throws: ``StoreError``: `invalidKey`, `readOnly`, `closed`, `full`, `io`.
    @concurrent
    @discardableResult
    public func removeObject(forKey key: String) async throws -> Bool {
        let now = now()
        let bytes = try Self.bytes(ofKey: key)
        return try await core.write(isDurable: true) { context in
            let hash = context.state.hash(bytes, .objectKey)
            let statement = try context.connection.prepare(
                """
                SELECT id, body_id, body_length, key, sequence, \(PendingInvalidation.state)
                FROM entry WHERE key_hash = ?1 AND kind = 1
                """
            )
            statement.bind(1, hash)
            var places: [EntryRows] = []
            while try statement.step() {
                guard context.exists(.object, sequence: statement.integer(4), pending: statement.integer(5)),
                    statement.withBytes(3, { $0.elementsEqual(bytes) })
                else { continue }
                places.append(EntryRows(statement))
            }
            statement.reset()
            if places.isEmpty { return false }
            // The removal takes a sequence number. If the end of the write-ahead log is lost, the
            // missing number reveals that the value came back.
            _ = try context.nextInvalidation(.object, hash: hash, at: now)
            for place in places { try context.remove(place) }
            return true
        }
    }

    /// Removes every object whose key begins with a prefix.
    ///
    /// This takes one short transaction for any number of objects: after a crash, either all of
    /// them are there or none. The removal is durable when this returns, and the space is free,
    /// except for bodies that are still being read. An object that is set later stays.
    ///
    /// Only bytes are compared, so "user-47" also covers "user-4711". End the prefix in a
    /// separator, as in "user-47/". To remove all objects and responses, call ``removeAll()``.
    ///
    /// - Parameter prefix: 1 to 4,096 bytes of UTF-8. A prefix without objects is not an error.
    /// - Throws: ``StoreError``: `invalidKey`, `readOnly`, `closed`, `full`, `io`; `busy` if 64
    ///   removals by prefix or principal are unfinished and do not finish.
    @concurrent
    public func removeObjects(withPrefix prefix: String) async throws {
        let now = now()
        let prefix = ObjectPrefix(try Self.bytes(ofKey: prefix))
        if isReadOnly { throw core.readOnlyError }
        try await waitingForOthers {
            try await core.write(isDurable: true) { try $0.removeObjects(prefix, at: now) }
        }
        try await settle()
    }

    // MARK: Within

    static func bytes(ofKey key: String) throws -> [UInt8] {
        let bytes = Array(key.utf8)
        guard (1...maximumKeyLength).contains(bytes.count) else {
            throw StoreError(
                code: .invalidKey,
                message:
                    "An object's key, or a prefix of keys, must have 1 to \(maximumKeyLength) bytes; this one has \(bytes.count). "
                    + "Choose another."
            )
        }
        return bytes
    }

    /// Returns the object of a key, from memory or from disk.
    func object(forKey key: [UInt8]) async throws -> LoadedObject? {
        switch try store.object(of: key) {
        case .none: nil
        case .object(let object): object
        case .large(let record): try await readLarge(record, key)
        }
    }

    /// Returns the objects of some keys, in the order of the keys.
    func objects(forKeys keys: [[UInt8]]) async throws -> [LoadedObject?] {
        let found = try store.objects(of: keys)
        var objects: [LoadedObject?] = []
        objects.reserveCapacity(keys.count)
        for (key, found) in zip(keys, found) {
            switch found {
            case .none: objects.append(nil)
            case .object(let object): objects.append(object)
            case .large(let record): objects.append(try await readLarge(record, key))
            }
        }
        return objects
    }

    /// Reads an object that is too large for one read. If the object is replaced in the meantime,
    /// reads the new one.
    private func readLarge(_ record: EntryRecord, _ key: [UInt8]) async throws -> LoadedObject? {
        var record = record
        for _ in 0..<64 {
            switch try await readChunks(of: record) {
            case .found(let object): return object
            case .damaged: return nil
            case .gone: break
            }
            switch try store.object(of: key) {
            case .none: return nil
            case .object(let object): return object
            case .large(let next):
                // The same object lacks a part, so another attempt finds no more.
                guard next.bodyID != record.bodyID else { return nil }
                record = next
            }
        }
        return nil
    }

    private enum LargeObject {
        case found(LoadedObject)
        case damaged
        case gone
    }

    /// Reads an object chunk by chunk.
    private func readChunks(of record: EntryRecord) async throws -> LargeObject {
        let database = try core.database()
        let damage = core.counters.damagedReads.load(ordering: .relaxed)
        let body = try StoredBody.open(
            core,
            database,
            entryID: record.id,
            bodyID: record.bodyID,
            length: record.bodyLength
        )
        guard let body, let head = record.objectHead else {
            return core.counters.damagedReads.load(ordering: .relaxed) == damage ? .gone : .damaged
        }
        do {
            let content = try await body.collect(upTo: Int(clamping: record.bodyLength))
            return .found(LoadedObject(record, head, bytes: Array(content.readableBytesView)))
        } catch let error as StoreError where error.code == .gone {
            // Another process, which writes, replaced or removed the object.
            return .gone
        }
    }

    static let objectQuery = EntryRecord.Query("key_hash = ?1 AND kind = 1")

    /// Decodes an object's value. Without a `coder`, the value is kept as long as the object's
    /// bytes are in memory.
    func decode<Value: Decodable & Sendable>(
        _ type: Value.Type,
        _ object: LoadedObject,
        key: String,
        coder: (any ObjectCoder)?
    ) -> Value? {
        // A value decoded by the call's own coder is not shared.
        if coder == nil, let value = object.derived.value(type) { return value }
        do {
            let value = try (coder ?? self.coder).decode(type, from: object.bytes)
            if coder == nil { object.derived.keep(value, bytes: MemoryLayout<Value>.size + 2 * object.bytes.count) }
            return value
        } catch {
            core.counters.undecodableObjects.add(1, ordering: .relaxed)
            core.logger.notice(
                "a stored object cannot be decoded as the requested type; keeping its bytes",
                metadata: [
                    "store.key": "\(key)", "store.stored-type": "\(object.typeName)",
                    "store.asked-type": "\(Value.self)",
                ]
            )
            return nil
        }
    }
}

extension LoadedObject {
    convenience init(_ record: EntryRecord, _ head: ObjectHead, bytes: [UInt8]) {
        self.init(
            id: record.id,
            storedAt: record.storedAt,
            expiresAt: record.expiresAt,
            isDistrusted: record.invalidation != nil,
            typeName: head.typeName,
            bytes: bytes
        )
    }

    func isExpired(at now: Timestamp) -> Bool { isDistrusted || expiresAt.isOver(at: now, storedAt: storedAt) }

    /// Returns a value of this object with the object's times.
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
