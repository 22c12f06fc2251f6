import HTTPCache
public import HTTPCacheSemantics
public import OfflineStore

/// What is stored, named by the endpoint that it is the response of.
///
/// The request is made as for a call: defaults, rules and plugins count, so that what is found is
/// what a call by the same client would find. Nothing is sent.
extension CachingClient {
    /// The stored value, however stale; `nil` where none is stored, its stale use is forbidden, or
    /// it is no value of this type. The same as ``fetch(_:_:)-(_,StoredOnlyStrategy)``.
    ///
    /// - Throws: ``HoldfastError``: the endpoint makes no request.
    public func stored<E: Endpoint>(_ endpoint: E) async throws -> Emission<E.Response>? {
        try await call(endpoint).fetch(.storedOnly)
    }

    /// The stored value of a type that the call names; see ``stored(_:)``.
    public func stored<Value: Decodable & Sendable>(
        _ endpoint: some Endpoint,
        as type: Value.Type
    ) async throws -> Emission<Value>? {
        try await call(endpoint, as: type).fetch(.storedOnly)
    }

    /// The key under which an endpoint's response is stored; where none is, the key under which it
    /// is looked up first. `nil` where the request goes past the store (a mutation, say).
    ///
    /// ```swift
    /// if let key = try await client.key(of: endpoint) {
    ///     let response = try await client.store.response(for: key)
    /// }
    /// ```
    ///
    /// A request on behalf of a principal has two keys: the principal's own, and everybody's, under
    /// which responses are stored that may be shared. All variants (`Vary`) share a key.
    /// - Throws: ``HoldfastError``: the endpoint makes no request; `StoreError`: the store cannot
    ///   be read.
    public func key(of endpoint: some Endpoint) async throws -> CacheKey? {
        let keys = lookupKeys(of: try await prepare(call(endpoint), for: .lookup).request)
        for key in keys {
            if try await isStored(key) { return key }
        }
        return keys.first
    }

    /// Makes stale what is stored for an endpoint, as ``Endpoint/invalidates`` does after a
    /// mutation: for every principal, in all variants. It still answers where the origin cannot be
    /// reached.
    ///
    /// Where many requests share one URL and are told apart by their content (GraphQL by POST),
    /// only what this very request would find is made stale: its principal's and everybody's.
    ///
    /// Durable when it returns. What is being fetched meanwhile is not stored. Streams that follow
    /// the store are told (``CallOptions/followsStore``).
    /// - Throws: ``HoldfastError``: the endpoint makes no request; `StoreError`: the store cannot
    ///   be written.
    public func invalidate(_ endpoint: some Endpoint) async throws {
        let request = try await prepare(call(endpoint), for: .lookup).request
        let keys = lookupKeys(of: request)
        guard keys.contains(where: { $0.components.content != nil }) else {
            return try await engine.invalidate(request, keepingForOffline: true)
        }
        for key in keys { try await invalidate(key, keepingForOffline: true) }
    }

    /// Removes what is stored for an endpoint, in all variants: what its request would find, that
    /// is, what is its principal's and what is everybody's. What other principals have stays.
    ///
    /// Afterwards nothing answers where the origin cannot be reached. To make it stale and keep it
    /// for that, use ``invalidate(_:)``.
    ///
    /// Durable when it returns. What is being fetched meanwhile is not stored.
    /// - Throws: ``HoldfastError``: the endpoint makes no request; `StoreError`: the store cannot
    ///   be written.
    public func remove(_ endpoint: some Endpoint) async throws {
        let request = try await prepare(call(endpoint), for: .lookup).request
        for key in lookupKeys(of: request) { try await invalidate(key, keepingForOffline: false) }
    }

    /// The principal's own key first, then everybody's; none where the request goes past the store.
    func lookupKeys(of request: CacheRequest) -> [CacheKey] { engine.prepare(request)?.lookupKeys ?? [] }

    func isStored(_ key: CacheKey) async throws -> Bool { try await !store.responses.lookup(key).isEmpty }

    func invalidate(_ key: CacheKey, keepingForOffline: Bool) async throws {
        try await store.responses.invalidate(.key(key), keepingForOffline: keepingForOffline, at: clock.now())
    }
}

extension CacheManager {
    /// Not here: a store cannot make the key of a request, because rules and credentials belong to
    /// it.
    @available(*, unavailable, message: "Ask the client for the key: 'client.key(of: endpoint)'.")
    public func response(for request: CacheRequest) async throws -> RawResponse? { nil }
}
