public import HTTPCache
public import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import StoreMemory

/// Stores and reads raw responses directly. The cache engine uses ``responses`` instead.
extension CacheManager {
    /// Stores a response. It replaces the stored response that has the same key, `Vary` and
    /// selecting header fields.
    ///
    /// The response is committed when this returns.
    ///
    /// The caller's expiry overrides the response's own fields. All fields are stored, so do not
    /// pass a field that must not be stored.
    ///
    /// - Parameter tags: names whose responses can be invalidated together: see
    ///   ``invalidateResponses(tagged:)``. A response has at most 64 tags of at most 1,024 bytes
    ///   each.
    /// - Throws: ``StoreError``: `tooLarge` (for the budget, or for a quota), `invalidTag`,
    ///   `readOnly`, `closed`, `busy`, `full`, `io`. After an error, any earlier response is still
    ///   stored.
    @concurrent
    public func setResponse(
        _ response: RawResponse,
        for key: StoreKey,
        expiry: Expiry,
        tags: [String] = []
    ) async throws {
        try await setResponse(response, for: key, expiry: expiry, tags: tags, isUpdate: false)
    }

    /// - Parameter isUpdate: whether watchers should ask the origin; see `StoreChange.isUpdate`.
    ///   Only for a response that fits in one transaction (4 MiB).
    @concurrent
    package func setResponse(
        _ response: RawResponse,
        for key: StoreKey,
        expiry: Expiry,
        tags: [String],
        isUpdate: Bool
    ) async throws {
        let now = now()
        let database = try core.database()
        guard let writer = database.writer else { throw core.readOnlyError }
        let draft = try draft(of: response, for: key, expiry, tags, at: now, database.state.limits)
        await writer.admit()
        if let whole = draft.whole(isVisibleBeforeCommit: true, database.state) {
            try await core.writeEntry(whole, to: database)
            var change = StoreChange(.stored, .key(key), tags: tags)
            change.isUpdate = isUpdate
            core.changes.publish(change)
        } else {
            try await store(draft, database)
        }
    }

    /// Checks a response from the caller and returns its draft.
    func draft(
        of response: RawResponse,
        for key: StoreKey,
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
            expectedLength: StatedLength(clamping: length),
            storedAt: now,
            tags: tags
        )
        guard draft.hasAcceptableTags else {
            throw StoreError(
                code: .invalidTag,
                message: "The response for '\(key.components.target.redacted)' is not stored: it has more than "
                    + "\(ResponseDraft.maximumTagCount) tags, or a tag of more than \(ResponseDraft.maximumTagLength) bytes. "
                    + "Send fewer or shorter tags."
            )
        }
        // The caller's body is in memory, so the sum cannot overflow.
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

    /// Stores one response in its own transactions.
    func store(_ response: RawResponseDraft, _ database: StoreDatabase) async throws {
        let room = database.state.limits.room(for: Int64(response.body.readableBytes))
        await database.state.unfinished.reserveInTurn(room)
        // There is no fencing number, because a response from the caller does not belong to a
        // request that began earlier.
        let writer = SQLiteResponseWriter(
            core: core,
            database: database,
            draft: response.draft,
            fencingNumber: nil,
            reserved: room
        )
        try await writer.append(response.body)
        _ = try await writer.finish()
    }

    /// Returns the live response of a key; `nil` if there is none. A live response is neither
    /// expired nor invalidated.
    ///
    /// If there are several variants, returns the one that was received last.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`; `gone` if another process removes a
    ///   large body while it is read.
    @concurrent
    public func response(for key: StoreKey) async throws -> RawResponse? {
        let now = now()
        let found = try await responses.lookup(key)
        guard let newest = newest(found, at: now), found[newest].isLive(at: now) else { return nil }
        return try await raw(found[newest])
    }

    /// Returns the response of a key at any age, with its times.
    ///
    /// If there are several variants, returns the live response that was received last, or the
    /// response that was received last if none is live.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`; `gone` if another process removes a
    ///   large body while it is read.
    @concurrent
    public func storedResponse(for key: StoreKey) async throws -> StoredRawResponse? {
        let now = now()
        let found = try await responses.lookup(key)
        guard let newest = newest(found, at: now), let raw = try await raw(found[newest]) else { return nil }
        return StoredRawResponse(response: raw, stored: found[newest], at: now)
    }

    /// Returns a stream of changes to the stored responses of a key, a target URI, a prefix, a tag,
    /// or all.
    ///
    /// Each change follows a commit in which this process stored, freshened or invalidated a
    /// response, so another lookup is worthwhile. Evictions and removals of expired responses are
    /// not reported. A slow watcher gets the newest 64 changes. The stream ends when the store is
    /// closed, or when the task that reads it is canceled.
    ///
    /// In a process that only reads, the stream reports commits of the writing process. All commits
    /// within ``Configuration/changeInterval`` become one change with the scope `.all`, for any
    /// interest. Its kind is `invalidated` if they include an invalidation, and `stored` otherwise.
    /// Such a change may be about an object, or about a response outside the interest.
    ///
    /// ```swift
    /// for await _ in store.changes(of: .tag("feed")) { await reload() }
    /// ```
    public func changes(of interest: InvalidationScope) -> AsyncStream<StoreChange> {
        core.changes.changes(of: interest)
    }

    /// Returns the index of the live response that was received last, or of the response that was
    /// received last if none is live.
    func newest(_ found: [StoredResponse], at now: Timestamp) -> Int? {
        if found.count <= 1 { return found.indices.first }
        let live = found.indices.filter { found[$0].isLive(at: now) }
        return (live.isEmpty ? Array(found.indices) : live).max {
            found[$0].head.responseTime < found[$1].head.responseTime
        }
    }

    /// Returns the response with its body; `nil` if the body no longer exists.
    func raw(_ stored: StoredResponse) async throws -> RawResponse? {
        var body = stored.content?.body
        if body == nil, let stream = try await responses.openBody(of: stored) {
            body = try await stream.collect(upTo: Int(clamping: stored.bodyLength))
        }
        return body.map { RawResponse(status: stored.head.status, headFields: stored.head.headFields, body: $0) }
    }
}

extension StoredResponse {
    /// The first instant at which the response is no longer live. Every lookup sets it.
    var freshUntil: Timestamp { content?.freshUntil ?? .distantFuture }

    /// Returns whether the response is neither expired nor invalidated.
    func isLive(at now: Timestamp) -> Bool {
        !head.isInvalidated && !freshUntil.isOver(at: now, storedAt: head.responseTime)
    }
}

/// A response from the caller that is about to be stored.
struct RawResponseDraft: Sendable {
    var draft: ResponseDraft
    /// The canonical encoding of the key's target.
    var canonicalTarget: [UInt8]
    var body: ByteBuffer

    /// Returns the row with its body if they fit in one transaction; otherwise `nil`.
    ///
    /// - Parameter isVisibleBeforeCommit: whether readers see the response before it is committed.
    func whole(isVisibleBeforeCommit: Bool, _ state: DatabaseState) -> WholeEntry? {
        guard body.readableBytes < state.limits.transaction else { return nil }
        return ResponseEntry(draft: draft, canonicalTarget: canonicalTarget, state: state)
            .whole(body.kept, isVisibleBeforeCommit: isVisibleBeforeCommit, state)
    }
}

extension ByteBuffer {
    /// The buffer itself, or a copy if the buffer is a small part of a larger one. The copy does
    /// not keep the larger buffer in memory.
    fileprivate var kept: ByteBuffer {
        storageCapacity <= 2 * readableBytes + 64 ? self : ByteBuffer(bytes: readableBytesView)
    }
}
