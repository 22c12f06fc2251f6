public import HTTPCacheSemantics
import Logging
import NIOCore
import Synchronization

/// Codable objects under keys of the caller's choice, apart from the responses.
extension CacheManager {
    /// Octets of a key at most, as UTF-8.
    public static let maximumKeyLength = 4096

    /// Stores a value, in place of what the key held.
    ///
    /// It is committed when this returns.
    ///
    /// - Parameters:
    ///   - value: anything the coder encodes.
    ///   - key: 1 to 4,096 octets of UTF-8, compared octet by octet.
    ///   - expiry: from when on ``object(_:forKey:coder:)`` no longer returns it; it stays readable through
    ///     ``storedObject(_:forKey:coder:)`` until it is removed or its room is needed.
    ///   - coder: the configuration's unless told otherwise. Read with the same.
    /// - Throws: ``StoreError``: `notEncodable`, `tooLarge`, `invalidKey`, `readOnly`, `closed`, `full`, `io`. What the key held before is still there.
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
        let hash = database.state.hash(try Self.octets(ofKey: key), .objectKey)
        await writer.admit()
        let coder = coder ?? self.coder
        let octets: [UInt8]
        do {
            octets = try coder.encode(value)
        } catch {
            throw StoreError(
                code: .notEncodable,
                message:
                    "The value of type '\(Value.self)' for the key '\(key)' cannot be encoded as \(coder.contentType). "
                    + "What was stored before is unchanged; see the cause.",
                cause: error
            )
        }
        let head = ObjectHead(contentType: coder.contentType, typeName: "\(Value.self)")
        let draft = EntryDraft(
            kind: .object,
            keyHash: hash,
            key: Array(key.utf8),
            variant: [],
            targetHash: nil,
            isInvalidated: false,
            isUsableStale: true,
            storedAt: now.milliseconds,
            expiresAt: expiry.instant(storedAt: now).milliseconds,
            bodyLength: Int64(octets.count),
            headContent: ObjectHeadCodec.content(of: head)
        )
        let limits = database.state.limits
        guard Int64(octets.count) <= limits.maximumObject else {
            throw BodyWriter.tooLarge("The object for the key '\(key)'", length: Int64(octets.count), limits: limits)
        }
        let room = limits.room(for: Int64(octets.count))
        await database.state.unfinished.reserveInTurn(room)
        let body = BodyWriter(core: core, database: database, reserved: room) { "The object for the key '\(key)'" }
        try await body.append(ByteBuffer(bytes: octets))
        _ = try await body.finish { context, bodyID, _ in
            try context.insert(draft, id: bodyID)
            return true
        }
    }

    /// The live value of a key; `nil` when there is none, or it expired, or it does not decode as this type.
    ///
    /// A value that no longer decodes (the type changed) is reported to the logger and counted in ``statistics()``; its octets stay.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    public func object<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self,
        forKey key: String,
        coder: (any ObjectCoder)? = nil
    ) async throws -> Value? {
        let now = now()
        guard let stored = try await octets(forKey: key, at: now), !stored.object.isExpired else { return nil }
        return decode(type, stored, key: key, coder: coder)
    }

    /// The value of a key whatever its age, with its times; `nil` when there is none, or it does not decode as this type.
    ///
    /// ```swift
    /// if let stored = try await store.storedObject(Feed.self, forKey: "feed") {
    ///     show(stored.value, note: stored.isExpired ? "as of \(stored.age)" : nil)
    /// }
    /// ```
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    public func storedObject<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self,
        forKey key: String,
        coder: (any ObjectCoder)? = nil
    ) async throws -> StoredObject<Value>? {
        let now = now()
        guard let stored = try await octets(forKey: key, at: now),
            let value = decode(type, stored, key: key, coder: coder)
        else { return nil }
        return stored.object.replacingValue(with: value)
    }

    /// The octets of a key whatever their age and whatever type they were encoded from.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    public func objectData(forKey key: String) async throws -> StoredObject<[UInt8]>? {
        let now = now()
        return try await octets(forKey: key, at: now)?.object
    }

    /// Removes a key's value.
    ///
    /// It is gone, also after a power failure, when this returns: a value that was there takes a number of the invalidations with it.
    ///
    /// - Returns: whether there was one.
    /// - Throws: ``StoreError``: `readOnly`, `closed`, `full`, `io`.
    @concurrent
    @discardableResult
    public func removeObject(forKey key: String) async throws -> Bool {
        let now = now()
        let octets = try Self.octets(ofKey: key)
        return try await core.write(isDurable: true) { context in
            let hash = context.state.hash(octets, .objectKey)
            let statement = try context.connection.prepare(
                "SELECT id, body_id, body_length, key FROM entry WHERE key_hash = ?1 AND kind = 1"
            )
            statement.bind(1, hash)
            var places: [EntryPlace] = []
            while try statement.step() {
                if statement.withOctets(3, { $0.elementsEqual(octets) }) { places.append(EntryPlace(statement)) }
            }
            statement.reset()
            if places.isEmpty { return false }
            // A number of the sequence: a log that loses its tail must not bring the value back unnoticed.
            _ = try context.nextInvalidation(.object, hash: hash, at: now)
            for place in places { try context.remove(place) }
            return true
        }
    }

    // MARK: Within

    private struct StoredOctets {
        var object: StoredObject<[UInt8]>
        var typeName: String
    }

    private static func octets(ofKey key: String) throws -> [UInt8] {
        let octets = Array(key.utf8)
        guard (1...maximumKeyLength).contains(octets.count) else {
            throw StoreError(
                code: .invalidKey,
                message:
                    "An object's key has 1 to \(maximumKeyLength) octets; this one has \(octets.count). Choose another one."
            )
        }
        return octets
    }

    private func octets(forKey key: String, at now: Timestamp) async throws -> StoredOctets? {
        let octets = try Self.octets(ofKey: key)
        // A value that is replaced between finding it and reading it is looked for again.
        for _ in 0..<4 {
            let (record, database) = try record(ofObject: octets)
            guard let record else { return nil }
            guard let head = record.objectHead else {
                core.noteDamage("head", entryID: record.id, in: database)
                return nil
            }
            store.use(record.id, database)
            let damage = core.damagedReads.load(ordering: .relaxed)
            let body = try StoredBody.open(
                core,
                database,
                entryID: record.id,
                bodyID: record.bodyID,
                length: record.bodyLength
            )
            if let body {
                let content = try await body.collect(upTo: Int(clamping: record.bodyLength))
                let object = StoredObject(
                    value: Array(content.readableBytesView),
                    storedAt: record.storedAt,
                    expiresAt: record.expiresAt == .distantFuture ? nil : record.expiresAt,
                    isDistrusted: record.isInvalidated,
                    at: now
                )
                return StoredOctets(object: object, typeName: head.typeName)
            }
            if core.damagedReads.load(ordering: .relaxed) != damage { return nil }
        }
        return nil
    }

    private func record(ofObject key: [UInt8]) throws -> (EntryRecord?, StoreDatabase) {
        try core.read { connection, database in
            let statement = try connection.prepare(Self.objectQuery.sql(database.state))
            defer { statement.reset() }
            statement.bind(1, database.state.hash(key, .objectKey))
            while try statement.step() {
                if statement.withOctets(3, { $0.elementsEqual(key) }) {
                    let record = EntryRecord(statement, database.state)
                    return (record?.isDamaged == true ? nil : record, database)
                }
            }
            return (nil, database)
        }
    }

    static let objectQuery = EntryRecord.Query("key_hash = ?1 AND kind = 1")

    private func decode<Value: Decodable>(
        _ type: Value.Type,
        _ stored: StoredOctets,
        key: String,
        coder: (any ObjectCoder)?
    ) -> Value? {
        do {
            return try (coder ?? self.coder).decode(type, from: stored.object.value)
        } catch {
            core.undecodableObjects.add(1, ordering: .relaxed)
            core.logger.notice(
                "a stored object does not decode as the type asked for; its octets stay",
                metadata: [
                    "store.key": "\(key)", "store.stored-type": "\(stored.typeName)",
                    "store.asked-type": "\(Value.self)",
                ]
            )
            return nil
        }
    }
}
