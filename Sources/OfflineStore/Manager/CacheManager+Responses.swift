public import HTTPCache
public import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// Raw responses by hand. The engine comes through ``responses`` instead.
extension CacheManager {
    /// Stores a response under a key, in place of the one with the same `Vary` and selecting fields.
    ///
    /// It is committed when this returns.
    ///
    /// The caller's expiry takes the place of what the response's own fields say. Nothing is left out of the fields: what must not be stored, do not
    /// pass.
    ///
    /// - Parameter tags: names under which it can be invalidated together with others, see ``invalidateResponses(tagged:)``: at most 64,
    ///   of at most 1,024 octets each.
    /// - Throws: ``StoreError``: `tooLarge` (for the budget, or for a quota), `invalidTag`, `readOnly`, `closed`, `busy`, `full`, `io`. What was
    ///   stored before is still there.
    @concurrent
    public func setResponse(
        _ response: RawResponse,
        for key: CacheKey,
        expiry: Expiry,
        tags: [String] = []
    ) async throws {
        let now = now()
        let expiresAt = expiry.instant(storedAt: now)
        let head = StoredResponseHead(
            requestMethod: key.components.method,
            status: response.status,
            fields: response.fields,
            requestTime: now,
            responseTime: now,
            explicitExpiry: expiresAt
        )
        let draft = ResponseDraft(
            key: key,
            head: head,
            freshUntil: expiresAt,
            isUsableStale: true,
            expectedLength: Int64(response.body.readableBytes),
            storedAt: now,
            tags: tags
        )
        let database = try core.database()
        guard let storeWriter = database.writer else { throw core.readOnlyError }
        guard draft.hasAcceptableTags else {
            throw StoreError(
                code: .invalidTag,
                message: "The response for '\(key.components.target.redacted)' has more tags than the "
                    + "\(ResponseDraft.maximumTagCount) a store keeps, or one of more than \(ResponseDraft.maximumTagLength) octets. "
                    + "It is not stored; give it fewer or shorter ones."
            )
        }
        let limits = database.state.limits
        let length = Int64(response.body.readableBytes)
        guard length + head.storedOctets + draft.tagOctets <= limits.maximumObject else {
            throw BodyWriter.tooLarge(
                "The body for '\(key.components.target.redacted)'",
                length: length,
                limits: limits
            )
        }
        if let quota = limits.quotas.tightest(for: draft), length + head.storedOctets + draft.tagOctets > quota.bytes {
            throw quota.error("The response for '\(key.components.target.redacted)'")
        }
        await storeWriter.admit()
        let room = limits.room(for: length)
        await database.state.unfinished.reserveInTurn(room)
        // Without a fence: what the caller stores itself is no answer to an earlier request.
        let writer = SQLiteResponseWriter(core: core, database: database, draft: draft, fence: nil, reserved: room)
        try await writer.append(response.body)
        _ = try await writer.finish()
    }

    /// The live response of a key: neither expired nor invalidated.
    ///
    /// Of several variants the one received last.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    public func response(for key: CacheKey) async throws -> RawResponse? {
        let now = now()
        let live = try await responses.lookup(key).filter { $0.isLive(at: now) }
        return try await newest(live, at: now)?.response
    }

    /// The response of a key whatever its age, with its times.
    ///
    /// Of several variants a live one, else the one received last.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    public func storedResponse(for key: CacheKey) async throws -> StoredRawResponse? {
        let now = now()
        let found = try await responses.lookup(key)
        let live = found.filter { $0.isLive(at: now) }
        return try await newest(live.isEmpty ? found : live, at: now)
    }

    /// The changes from now on to the stored responses of a key, a target URI, a prefix or a tag, or to all of them, each after its commit.
    ///
    /// They tell that a response was stored, freshened or invalidated by this process, and that looking again is worth while;
    /// not what was evicted or removed because it had expired. A watcher that is slow gets the newest 64. The stream ends when
    /// the task that reads it is cancelled.
    ///
    /// ```swift
    /// for await _ in store.changes(of: .tag("feed")) { await reload() }
    /// ```
    public func changes(of interest: InvalidationScope) -> AsyncStream<StoreChange> {
        core.changes.changes(of: interest)
    }

    func newest(_ found: [StoredResponse], at now: Timestamp) async throws -> StoredRawResponse? {
        let newest = found.max { $0.head.responseTime < $1.head.responseTime }
        guard let newest else { return nil }
        let body: ByteBuffer
        if let resident = newest.content?.body {
            body = resident
        } else {
            guard let stream = try await responses.openBody(of: newest) else { return nil }
            body = try await stream.collect(upTo: Int(clamping: newest.bodyLength))
        }
        let raw = RawResponse(status: newest.head.status, fields: newest.head.fields, body: body)
        return StoredRawResponse(response: raw, stored: newest, at: now)
    }
}

extension StoredResponse {
    /// The first instant at which it is no longer live; every lookup tells.
    var freshUntil: Timestamp { content?.freshUntil ?? .distantFuture }

    /// Neither expired nor invalidated.
    func isLive(at now: Timestamp) -> Bool { !head.isInvalidated && freshUntil > now }
}
