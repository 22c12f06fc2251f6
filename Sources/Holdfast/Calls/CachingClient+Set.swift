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
    /// Stores a value for an endpoint, whether or not one is stored. Use it for a value that the
    /// program already has, such as the result of a mutation, or a default for the first start.
    ///
    /// ```swift
    /// let moment = try await client.post("/moments", draft, as: Moment.self).value
    /// try await client.set(GetMoment(id: moment.id), moment)
    /// ```
    ///
    /// If a value is stored, this does the same as ``update(_:encoder:_:)``: the content around the
    /// value stays. Otherwise it stores a response with status 200, the encoded value, and the tags
    /// of the endpoint and its rules.
    ///
    /// * **Readers**: ``stored(_:)``, `startWith`, offline reads, queries and streams that follow
    ///   the store get the value.
    /// * **Freshness**: the value is stale from the start and has no validators. A call by HTTP's
    ///   rules therefore asks the origin, and gets the value only if the origin is unreachable. The
    ///   origin's next response replaces the value.
    /// * **Concurrent fetches**: a response that was requested before the value was set reaches its
    ///   caller, but is not stored.
    ///
    /// - Parameter encoder: writes a format that the client's decoder reads. The default encoder
    ///   writes JSON with ISO 8601 dates.
    /// - Returns: the value, and a way to undo the change: ``StoredUpdate/rollBack()`` restores the
    ///   former value, or removes this one if there was none. The value is `nil` if the endpoint's
    ///   requests bypass the store.
    /// - Throws: `HoldfastError` if the endpoint does not make a valid request or a plugin fails,
    ///   or with code `encodingFailed` if the value could not be encoded, if the decoder could not
    ///   read it, or if nothing is stored and the value is inside an envelope or an array;
    ///   `StoreError` if the store cannot be written; `CancellationError`. If it throws, the value
    ///   is not stored.
    @discardableResult
    public func set<E: Endpoint>(
        _ endpoint: E,
        _ value: E.Response,
        encoder: any ContentEncoder = JSONContentEncoder()
    ) async throws -> StoredUpdate<E.Response> where E.Response: Encodable {
        try await set(endpoint, value, as: E.Response.self, encoder: encoder)
    }

    /// Stores a value of an explicit type; see ``set(_:_:encoder:)``.
    @discardableResult
    public func set<Value: Codable & Sendable>(
        _ endpoint: some Endpoint,
        _ value: Value,
        as type: Value.Type,
        encoder: any ContentEncoder = JSONContentEncoder()
    ) async throws -> StoredUpdate<Value> {
        let updated = try await update(endpoint, as: type, encoder: encoder) { $0 = value }
        if updated.value != nil { return updated }
        let prepared = try await prepareLookup(call(endpoint, as: type))
        return try await create(value, prepared, encoder)
    }

    /// Stores a value where no usable value is stored.
    @concurrent
    private func create<Value: Codable & Sendable>(
        _ value: Value,
        _ prepared: PreparedCall,
        _ encoder: any ContentEncoder
    ) async throws -> StoredUpdate<Value> {
        let keys = lookupKeys(of: prepared.request)
        guard let key = keys.first, prepared.request.storage != .never, prepared.request.head.method != .head else {
            return StoredUpdate(value: nil)
        }
        let replacement = ContentReplacement(
            decoding: prepared.reading.decoding,
            encoder: encoder,
            target: prepared.target
        )
        let body = ByteBuffer(bytes: try replacement.data(of: value))
        var fields: HTTPFields = [:]
        if let type = mediaType(of: Value.self, encoder) { fields[.contentType] = type }
        let tags = tags(of: prepared.request, fields)
        // Responses that were requested earlier must not replace the value, and other stored
        // responses must not be chosen instead.
        for key in keys { try await invalidate(key, keepingForOffline: true) }
        let now = clock.now()
        let response = RawResponse(status: .ok, fields: fields, body: body)
        try await store.setResponse(response, for: key, expiry: .at(now), tags: tags, isUpdate: true)
        return StoredUpdate(value: value) { [self] in try await remove(key, setAt: now, body) }
    }

    /// Removes a value that was set, unless another one is stored.
    private func remove(_ key: StoreKey, setAt instant: Timestamp, _ body: ByteBuffer) async throws -> Bool {
        for stored in try await store.responses.lookup(key) where stored.head.explicitExpiry == instant {
            guard let content = try await store.responses.openBody(of: stored),
                try await content.collect(upTo: body.readableBytes) == body
            else { continue }
            return try await store.responses.withdraw(stored)
        }
        return false
    }

    private func mediaType(of type: any Any.Type, _ encoder: any ContentEncoder) -> String? {
        if type == Data.self { return nil }
        return type == String.self ? "text/plain; charset=utf-8" : encoder.contentType
    }

    /// Returns the tags that a response to the request would be stored with.
    private func tags(of request: CacheRequest, _ fields: HTTPFields) -> [String] {
        var tags = engine.prepare(request)?.settings(for: fields)?.tags ?? []
        for tag in request.tags where !tags.contains(tag) { tags.append(tag) }
        return tags
    }
}
