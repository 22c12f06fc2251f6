import HTTPCache
public import HTTPCacheSemantics

/// Many at once: what is in memory, and the rest in one transaction.
///
/// Objects of more than 1 MiB, and bodies that are not kept in memory (see ``Configuration/maximumResidentBody``), are read one after the other
/// behind it.
extension CacheManager {
    /// The live values of some keys; a key that has none, an expired one, or one that does not decode as this type is not in the result.
    ///
    /// A key that is empty or too long fails the whole call.
    ///
    /// ```swift
    /// let feeds: [String: Feed] = try await store.objects(forKeys: names)
    /// let missing = names.filter { feeds[$0] == nil }
    /// ```
    ///
    /// - Throws: ``StoreError``: `invalidKey`, `closed`, `damaged`, `io`.
    @concurrent
    public func objects<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self,
        forKeys keys: [String],
        coder: (any ObjectCoder)? = nil
    ) async throws -> [String: Value] {
        let now = now()
        var values: [String: Value] = [:]
        values.reserveCapacity(keys.count)
        for (key, object) in zip(keys, try await objects(forKeys: keys.map(Self.octets))) {
            guard let object, !object.isExpired(at: now) else { continue }
            values[key] = decode(type, object, key: key, coder: coder)
        }
        return values
    }

    /// The values of some keys whatever their age, with their times; a key that has none is not in the result.
    ///
    /// - Throws: ``StoreError``: `invalidKey`, `closed`, `damaged`, `io`.
    @concurrent
    public func storedObjects<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self,
        forKeys keys: [String],
        coder: (any ObjectCoder)? = nil
    ) async throws -> [String: StoredObject<Value>] {
        let now = now()
        var values: [String: StoredObject<Value>] = [:]
        values.reserveCapacity(keys.count)
        for (key, object) in zip(keys, try await objects(forKeys: keys.map(Self.octets))) {
            guard let object, let value = decode(type, object, key: key, coder: coder) else { continue }
            values[key] = object.stored(value, at: now)
        }
        return values
    }

    /// The live responses of some keys; a key that has none is not in the result. Bodies are in memory, all of them.
    ///
    /// Of several variants the one received last.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    public func responses(for keys: [CacheKey]) async throws -> [CacheKey: RawResponse] {
        let now = now()
        var responses: [CacheKey: RawResponse] = [:]
        responses.reserveCapacity(keys.count)
        let found = try store.responses(of: keys)
        for (index, key) in keys.enumerated() {
            guard let newest = newest(found[index], at: now), found[index][newest].isLive(at: now) else { continue }
            if let body = found[index][newest].content?.body {
                let (status, fields) = (found[index][newest].head.status, found[index][newest].head.headFields)
                responses[key] = RawResponse(status: status, headFields: fields, body: body)
            } else {
                responses[key] = try await raw(found[index][newest])
            }
        }
        return responses
    }

    /// The responses of some keys whatever their age, with their times; a key that has none is not in the result.
    ///
    /// Of several variants a live one, else the one received last.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    public func storedResponses(for keys: [CacheKey]) async throws -> [CacheKey: StoredRawResponse] {
        let now = now()
        var responses: [CacheKey: StoredRawResponse] = [:]
        responses.reserveCapacity(keys.count)
        let found = try store.responses(of: keys)
        for (index, key) in keys.enumerated() {
            guard let newest = newest(found[index], at: now), let raw = try await raw(found[index][newest]) else {
                continue
            }
            responses[key] = StoredRawResponse(response: raw, stored: found[index][newest], at: now)
        }
        return responses
    }
}
