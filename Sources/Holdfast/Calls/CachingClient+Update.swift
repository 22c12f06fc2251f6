import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
public import HoldfastContent
import NIOCore
import OfflineStore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CachingClient {
    /// Changes an endpoint's stored value, and returns a way to undo the change. Use it to show a
    /// mutation's effect before the origin has confirmed the mutation.
    ///
    /// ```swift
    /// let update = try await client.update(GetMovie(id: id)) { $0.isLiked = true }
    /// do {
    ///     _ = try await client.fetch(LikeMovie(id: id))
    /// } catch {
    ///     try await update.rollBack()
    ///     throw error
    /// }
    /// ```
    ///
    /// Streams that follow the store emit the changed value (``CallOptions/followsStore``), and
    /// ``stored(_:)``, `startWith` and offline reads return it. The changed value is stale from the
    /// start and has no validators. The next request to the origin therefore fetches the whole
    /// response, which replaces the changed value. A 304 cannot confirm the changed value, and it
    /// is never mistaken for a value from the origin.
    ///
    /// * **Changed**: the variant that the request selects, under the key where it is stored. A
    ///   shared response is changed for all users of this store. A response under the request's
    ///   other key (see ``key(of:)``) becomes stale.
    /// * **Unchanged**: the status, the fields (except those that describe the content: validators,
    ///   codings, digests and its length), the tags, a mark of invalidation, and, byte for byte,
    ///   the content around the value (its envelope, or everything outside its path). Compressed
    ///   content is stored uncompressed. Plugins that process content are not involved.
    /// * **Concurrent changes** are not lost: if another update or a response is stored first,
    ///   `change` runs again on the new value. A response that was requested before the update
    ///   reaches its caller, but is not stored.
    ///
    /// The changed content must be shorter than 4 MiB.
    ///
    /// - Parameters:
    ///   - encoder: writes a format that the client's decoder reads. The default encoder writes
    ///   JSON with ISO 8601 dates.
    ///   - change: changes the value. It runs on the caller's actor, and runs again if the stored
    ///   value changes at the same time. If the result equals the stored value, nothing is written.
    /// - Returns: the stored value, and a way to undo the change. If no stored response can be used
    ///   as this type, the value is `nil` and nothing is changed.
    /// - Throws: any error of `change`; `HoldfastError` if the endpoint does not make a valid
    ///   request or a plugin fails, or with code `encodingFailed` if the value could not be encoded
    ///   or the decoder could not read it; `StoreError` if the store cannot be written, or with
    ///   code `tooLarge` if the content is too long; `CancellationError`. If it throws, the stored
    ///   value has not changed.
    @discardableResult
    public func update<E: Endpoint>(
        _ endpoint: E,
        encoder: any ContentEncoder = JSONContentEncoder(),
        _ change: (inout E.Response) throws -> Void
    ) async throws -> StoredUpdate<E.Response> where E.Response: Encodable {
        try await update(endpoint, as: E.Response.self, encoder: encoder, change)
    }

    /// Changes the stored value as an explicit type; see ``update(_:encoder:_:)``.
    @discardableResult
    public func update<Value: Codable & Sendable>(
        _ endpoint: some Endpoint,
        as type: Value.Type,
        encoder: any ContentEncoder = JSONContentEncoder(),
        _ change: (inout Value) throws -> Void
    ) async throws -> StoredUpdate<Value> {
        let call = call(endpoint, as: type)
        let prepared = try await prepareLookup(call)
        while true {
            try Task.checkCancellation()
            guard let found = try await readForUpdate(call, prepared) else { return StoredUpdate(value: nil) }
            var value = found.value
            try change(&value)
            if let update = try await write(value, into: found, prepared, encoder) { return update }
        }
    }

    /// Returns the stored content that a request selects; `nil` if it cannot be used as a value of
    /// this type.
    @concurrent
    private func readForUpdate<Value: Decodable & Sendable>(
        _ call: Call<Value>,
        _ prepared: PreparedCall
    ) async throws -> UpdatableContent<Value>? {
        guard prepared.request.storage != .never else { return nil }
        var request = prepared.request
        request.preference = .storedOnly
        let reading = prepared.reading
        do {
            let response = try await follow(request, call, prepared)
            guard let stored = response.stored, request.head.method != .head, stored.head.status != .partialContent,
                reading.acceptedStatuses.contains(stored.head.status)
            else { return nil }
            let limit = reading.maximumBodyBytes
            let body = try await response.body.collect(upTo: limit)
            let plain = try body.decoded(codings: stored.head.fields, upTo: limit, of: reading.target)
            let data = Data(plain.readableBytesView)
            let value = try reading.decoding.decode(
                Value.self,
                from: data,
                status: stored.head.status,
                target: reading.target
            )
            return UpdatableContent(
                request: response.redirects?.last ?? request,
                stored: stored,
                body: body,
                data: data,
                value: value
            )
        } catch {
            try Task.checkCancellation()
            let error = HoldfastError(error, target: prepared.target)
            if error.code == .closed { throw error }
            if error.code != .offlineMiss, error.code != .staleForbidden {
                logger.warning("Stored response not usable", metadata: ["error": "\(error.logged)"])
            }
            return nil
        }
    }

    /// - Returns: `nil` if another response has been stored in the meantime.
    @concurrent
    private func write<Value: Codable & Sendable>(
        _ value: Value,
        into found: UpdatableContent<Value>,
        _ prepared: PreparedCall,
        _ encoder: any ContentEncoder
    ) async throws -> StoredUpdate<Value>? {
        let content = ContentReplacement(decoding: prepared.reading.decoding, encoder: encoder, target: prepared.target)
        guard let data = try content.data(found.data, replacing: found.value, with: value) else {
            return StoredUpdate(value: value)
        }
        try await invalidateOthers(than: found.stored, found.request)
        let now = clock.now()
        let replaced = try await store.replaceBody(
            of: found.stored,
            with: ByteBuffer(bytes: data),
            excludesFetches: true
        ) { $0.updated(length: data.count, at: now) }
        guard let replaced else { return nil }
        return StoredUpdate(value: value) { [store, body = found.body] in
            // A response that was stored later has another number.
            try await store.replaceBody(of: replaced.stored, with: body, excludesFetches: false) { _ in
                replaced.former
            } != nil
        }
    }
}

extension CachingClient {
    /// Makes the response under the request's other key stale. Otherwise the engine would choose
    /// that response while it is fresh, even if it is older than the changed response.
    fileprivate func invalidateOthers(than stored: StoredResponse, _ request: CacheRequest) async throws {
        for key in lookupKeys(of: request) where key != stored.key {
            if try await isStored(key) { try await invalidate(key, keepingForOffline: true) }
        }
    }
}

/// Stored content that is about to change.
private struct UpdatableContent<Value: Sendable>: Sendable {
    /// The call's request, or the one that its redirects lead to.
    let request: CacheRequest
    let stored: StoredResponse
    /// The content as stored.
    let body: ByteBuffer
    /// The content, decompressed.
    let data: Data
    let value: Value
}

extension ResponseReplacement {
    /// Returns the head for content that the origin did not send. It is stale, and has none of the
    /// fields that describe the origin's content.
    fileprivate func updated(length: Int, at now: Timestamp) -> ResponseReplacement {
        var head = head
        let hasLength = head.fields.contains(.contentLength)
        head.fields.removeAll { Self.fieldsOfContent.contains($0.name.canonicalName) }
        if hasLength { head.fields.append(HTTPField(name: .contentLength, value: String(length))) }
        head.explicitExpiry = now
        return ResponseReplacement(head: head, freshUntil: now, isUsableStale: true)
    }

    /// Validators, codings and digests. RFC 9110 §8, RFC 9530
    private static let fieldsOfContent: Set<String> = [
        "etag", "last-modified", "content-encoding", "content-length", "content-md5", "digest", "content-digest",
        "repr-digest",
    ]
}
