import HTTPCache
public import HTTPCacheSemantics

/// Reads many keys at once: as many as possible from memory, and the rest in one read transaction.
///
/// Objects larger than 1 MiB, and bodies too large for memory (see
/// ``Configuration/maximumResidentBody``), are read one after another outside that transaction.
extension CacheManager {
    /// Returns the live values of some keys, in the order of the keys.
    ///
    /// The result has `nil` for a key without a value, with an expired value, or with a value that
    /// does not decode as this type. A key that is empty or too long fails the whole call. The
    /// result is not a dictionary, because keys are compared by their bytes, but Swift compares
    /// strings by their characters.
    ///
    /// ```swift
    /// let feeds: [Feed?] = try await store.objects(forKeys: names)
    /// let missing = zip(names, feeds).filter { $0.1 == nil }.map(\.0)
    /// ```
    ///
    /// - Returns: one element for each key; a key that occurs twice has its value twice.
    /// - Throws: ``StoreError``: `invalidKey`, `closed`, `damaged`, `io`.
    @concurrent
    public func objects<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self,
        forKeys keys: [String],
        coder: (any ObjectCoder)? = nil
    ) async throws -> [Value?] {
        let now = now()
        let objects = try await objects(forKeys: keys.map(Self.bytes))
        return zip(keys, objects).map { key, object in
            guard let object, !object.isExpired(at: now) else { return nil }
            return decode(type, object, key: key, coder: coder)
        }
    }

    /// Returns the values of some keys at any age, with their times, in the order of the keys.
    ///
    /// The result has `nil` for a key without a value.
    ///
    /// - Throws: ``StoreError``: `invalidKey`, `closed`, `damaged`, `io`.
    @concurrent
    public func storedObjects<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self,
        forKeys keys: [String],
        coder: (any ObjectCoder)? = nil
    ) async throws -> [StoredObject<Value>?] {
        let now = now()
        let objects = try await objects(forKeys: keys.map(Self.bytes))
        return zip(keys, objects).map { key, object in
            guard let object, let value = decode(type, object, key: key, coder: coder) else { return nil }
            return object.stored(value, at: now)
        }
    }

    /// Returns the live responses of some keys, with their whole bodies in memory.
    ///
    /// The result omits a key without a live response. If a key has several variants, the result
    /// has the response that was received last.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`; `gone` if another process removes a
    ///   large body while it is read.
    @concurrent
    public func responses(for keys: [StoreKey]) async throws -> [StoreKey: RawResponse] {
        let now = now()
        var responses: [StoreKey: RawResponse] = [:]
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

    /// Returns the responses of some keys at any age, with their times.
    ///
    /// The result omits a key without a response. If a key has several variants, the result has the
    /// live response that was received last, or the response that was received last if none is
    /// live.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`; `gone` if another process removes a
    ///   large body while it is read.
    @concurrent
    public func storedResponses(for keys: [StoreKey]) async throws -> [StoreKey: StoredRawResponse] {
        let now = now()
        var responses: [StoreKey: StoredRawResponse] = [:]
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
