import HTTPCache
public import HTTPCacheSemantics

/// Many at once: what is in memory, and the rest in one transaction.
///
/// Objects of more than 1 MiB, and bodies that are not kept in memory (see
/// ``Configuration/maximumResidentBody``), are read one after the other behind it.
extension CacheManager {
    /// The live values of some keys, in the order of the keys.
    ///
    /// `nil` stands for a key that has no value, an expired one, or one that does not decode as
    /// this type. A key that is empty or too long fails the whole call. The result is no
    /// dictionary: keys are told apart by their bytes, and Swift's texts are not.
    ///
    /// ```swift
    /// let feeds: [Feed?] = try await store.objects(forKeys: names)
    /// let missing = zip(names, feeds).filter { $0.1 == nil }.map(\.0)
    /// ```
    ///
    /// - Returns: as many as there are keys; a key that is given twice has its value twice.
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

    /// The values of some keys whatever their age, with their times, in the order of the keys;
    /// `nil` for a key that has none.
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

    /// The live responses of some keys; a key that has none is not in the result. Bodies are in
    /// memory, all of them.
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

    /// The responses of some keys whatever their age, with their times; a key that has none is not
    /// in the result.
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
