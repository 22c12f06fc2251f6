public import HTTPCache
public import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// Raw responses by hand. The engine comes through ``responses`` instead.
extension CacheManager {
    /// Stores a response under a key, in place of the one with the same `Vary` and selecting
    /// fields.
    ///
    /// It is committed when this returns.
    ///
    /// The caller's expiry takes the place of what the response's own fields say. Nothing is left
    /// out of the fields: what must not be stored, do not pass.
    ///
    /// - Parameter tags: names under which it can be invalidated together with others, see
    ///   ``invalidateResponses(tagged:)``: at most 64, of at most 1,024 bytes each.
    /// - Throws: ``StoreError``: `tooLarge` (for the budget, or for a quota), `invalidTag`,
    ///   `readOnly`, `closed`, `busy`, `full`, `io`. What was stored before is still there.
    @concurrent
    public func setResponse(
        _ response: RawResponse,
        for key: CacheKey,
        expiry: Expiry,
        tags: [String] = []
    ) async throws {
        let now = now()
        let database = try core.database()
        guard let writer = database.writer else { throw core.readOnlyError }
        let draft = try draft(of: response, for: key, expiry, tags, at: now, database.state.limits)
        await writer.admit()
        if let whole = draft.whole(isShown: true, database.state) {
            try await core.write(whole, to: database)
            core.changes.publish(StoreChange(.stored, .key(key), tags: tags))
        } else {
            try await store(draft, database)
        }
    }

    /// A response of the caller's that may be stored.
    func draft(
        of response: RawResponse,
        for key: CacheKey,
        _ expiry: Expiry,
        _ tags: [String],
        at now: Timestamp,
        _ limits: StoreLimits
    ) throws -> RawResponseDraft {
        let outline = key.outline
        let expiresAt = expiry.instant(storedAt: now)
        let head = StoredResponseHead(
            requestMethod: outline.method,
            status: response.status,
            fields: response.fields,
            requestTime: now,
            responseTime: now,
            explicitExpiry: expiresAt
        )
        let length = Int64(response.body.readableBytes)
        let draft = ResponseDraft(
            key: key,
            head: head,
            freshUntil: expiresAt,
            isUsableStale: true,
            expectedLength: length,
            storedAt: now,
            tags: tags
        )
        guard draft.hasAcceptableTags else {
            throw StoreError(
                code: .invalidTag,
                message: "The response for '\(key.components.target.redacted)' has more tags than the "
                    + "\(ResponseDraft.maximumTagCount) a store keeps, or one of more than \(ResponseDraft.maximumTagLength) bytes. "
                    + "It is not stored; give it fewer or shorter ones."
            )
        }
        let bytes = length + head.storedBytes + draft.tagBytes
        guard bytes <= limits.maximumObject else {
            throw BodyWriter.tooLarge(
                "The body for '\(key.components.target.redacted)'",
                length: length,
                limits: limits
            )
        }
        if let quota = limits.quotas.tightest(for: draft), bytes > quota.bytes {
            throw quota.error("The response for '\(key.components.target.redacted)'")
        }
        return RawResponseDraft(draft: draft, canonicalTarget: outline.canonicalTarget, body: response.body)
    }

    /// Stores a response by itself.
    func store(_ response: RawResponseDraft, _ database: StoreDatabase) async throws {
        let room = database.state.limits.room(for: Int64(response.body.readableBytes))
        await database.state.unfinished.reserveInTurn(room)
        // Without a fence: what the caller stores itself is no answer to an earlier request.
        let writer = SQLiteResponseWriter(
            core: core,
            database: database,
            draft: response.draft,
            fence: nil,
            reserved: room
        )
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
        let found = try await responses.lookup(key)
        guard let newest = newest(found, at: now), found[newest].isLive(at: now) else { return nil }
        return try await raw(found[newest])
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
        guard let newest = newest(found, at: now), let raw = try await raw(found[newest]) else { return nil }
        return StoredRawResponse(response: raw, stored: found[newest], at: now)
    }

    /// The changes from now on to the stored responses of a key, a target URI, a prefix or a tag,
    /// or to all of them, each after its commit.
    ///
    /// They tell that a response was stored, freshened or invalidated by this process, and that
    /// looking again is worth while; not what was evicted or removed because it had expired. A
    /// watcher that is slow gets the newest 64. The stream ends when the store is closed, or the
    /// task that reads it is cancelled.
    ///
    /// In a process that reads alone they tell of the writing process. What it commits within
    /// ``Configuration/changeInterval`` is one change of everything (`.all`), `invalidated` where
    /// an invalidation is among it and `stored` otherwise, whatever the interest: it may be about
    /// an object, or about nothing that is asked for.
    ///
    /// ```swift
    /// for await _ in store.changes(of: .tag("feed")) { await reload() }
    /// ```
    public func changes(of interest: InvalidationScope) -> AsyncStream<StoreChange> {
        core.changes.changes(of: interest)
    }

    /// The index of the one received last: of the live ones, or of all where none is live.
    func newest(_ found: [StoredResponse], at now: Timestamp) -> Int? {
        if found.count <= 1 { return found.indices.first }
        let live = found.indices.filter { found[$0].isLive(at: now) }
        return (live.isEmpty ? Array(found.indices) : live).max {
            found[$0].head.responseTime < found[$1].head.responseTime
        }
    }

    /// The response with its body; `nil` when that is gone.
    func raw(_ stored: StoredResponse) async throws -> RawResponse? {
        var body = stored.content?.body
        if body == nil, let stream = try await responses.openBody(of: stored) {
            body = try await stream.collect(upTo: Int(clamping: stored.bodyLength))
        }
        return body.map { RawResponse(status: stored.head.status, headFields: stored.head.headFields, body: $0) }
    }
}

extension StoredResponse {
    /// The first instant at which it is no longer live; every lookup tells.
    var freshUntil: Timestamp { content?.freshUntil ?? .distantFuture }

    /// Neither expired nor invalidated.
    func isLive(at now: Timestamp) -> Bool {
        !head.isInvalidated && !freshUntil.isOver(at: now, storedAt: head.responseTime)
    }
}

/// A response of the caller's that is about to be stored.
struct RawResponseDraft: Sendable {
    var draft: ResponseDraft
    /// The key's.
    var canonicalTarget: [UInt8]
    var body: ByteBuffer

    /// The row with its body, where one transaction takes it; else `nil`.
    ///
    /// - Parameter isShown: readers see it before its commit.
    func whole(isShown: Bool, _ state: DatabaseState) -> WholeEntry? {
        guard body.readableBytes < state.limits.transaction else { return nil }
        return ResponseEntry(draft: draft, canonicalTarget: canonicalTarget, state: state)
            .whole(body.kept, isShown: isShown, state)
    }
}

extension ByteBuffer {
    /// Itself, or a copy where it is a part of something larger, which memory would keep along with
    /// it.
    fileprivate var kept: ByteBuffer {
        storageCapacity <= 2 * readableBytes + 64 ? self : ByteBuffer(bytes: readableBytesView)
    }
}
