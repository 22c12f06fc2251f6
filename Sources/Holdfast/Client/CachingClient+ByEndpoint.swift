import HTTPCache
public import HTTPCacheSemantics
public import OfflineStore

/// Access to stored responses by endpoint.
///
/// The client makes the request as it does for a call, with its defaults, rules and plugins. So
/// these functions find the same response as a call by this client. They send nothing.
extension CachingClient {
    /// Returns the stored value, however stale. Returns `nil` if nothing is stored, if its stale
    /// use is forbidden, or if it cannot be read as this type. The same as
    /// ``fetch(_:_:)-(_,StoredOnlyStrategy)``.
    ///
    /// - Throws: ``HoldfastError`` if the endpoint makes no valid request.
    public func stored<E: Endpoint>(_ endpoint: E) async throws -> Emission<E.Response>? {
        try await call(endpoint).fetch(.storedOnly)
    }

    /// Returns the stored value as a type that the call names; see ``stored(_:)``.
    public func stored<Value: Decodable & Sendable>(
        _ endpoint: some Endpoint,
        as type: Value.Type
    ) async throws -> Emission<Value>? {
        try await call(endpoint, as: type).fetch(.storedOnly)
    }

    /// Returns the key under which the endpoint's response is stored. If none is stored, returns
    /// the key that the client looks up first. Returns `nil` if the request bypasses the store, as
    /// a mutation does.
    ///
    /// ```swift
    /// if let key = try await client.key(of: endpoint) {
    ///     let response = try await client.store.response(for: key)
    /// }
    /// ```
    ///
    /// A request with a principal has two keys: the principal's own key, and the common key for
    /// responses that every principal may use. All variants (`Vary`) share a key. A redirect has a
    /// key of its own, which is returned here, and so has the response that it leads to.
    /// - Throws: ``HoldfastError`` if the endpoint makes no valid request; `StoreError` if the
    ///   store cannot be read.
    public func key(of endpoint: some Endpoint) async throws -> CacheKey? {
        let keys = lookupKeys(of: try await prepare(call(endpoint), for: .lookup).request)
        for key in keys {
            if try await isStored(key) { return key }
        }
        return keys.first
    }

    /// Makes the stored response of an endpoint stale, for every principal and in all variants.
    /// ``Endpoint/invalidates`` does the same after a mutation. The response is still served if the
    /// origin is unreachable.
    ///
    /// If many requests share one URL and differ by their content (GraphQL by POST), only the
    /// responses that this request would find become stale: those of its principal, and the common
    /// ones.
    ///
    /// Stored redirects that the endpoint follows become stale too, and so do the responses that
    /// they lead to.
    ///
    /// The change is durable when the function returns. A response that is being fetched meanwhile
    /// is not stored. Streams that follow the store are notified (``CallOptions/followsStore``).
    /// - Throws: ``HoldfastError`` if the endpoint makes no valid request; `StoreError` if the
    ///   store cannot be written.
    public func invalidate(_ endpoint: some Endpoint) async throws {
        let prepared = try await prepare(call(endpoint), for: .lookup)
        for request in await requestsWithStoredRedirects(from: prepared.request) {
            let keys = lookupKeys(of: request)
            if keys.contains(where: { $0.components.content != nil }) {
                for key in keys { try await invalidate(key, keepingForOffline: true) }
            } else {
                try await engine.invalidate(request, keepingForOffline: true)
            }
        }
    }

    /// Removes the stored responses of an endpoint, in all variants: those of its request's
    /// principal, and the common ones. The responses of other principals stay. Stored redirects
    /// that the endpoint follows are removed with the responses that they lead to.
    ///
    /// Afterwards nothing is served if the origin is unreachable. To keep the response for that
    /// case, use ``invalidate(_:)``.
    ///
    /// The change is durable when the function returns. A response that is being fetched meanwhile
    /// is not stored.
    /// - Throws: ``HoldfastError`` if the endpoint makes no valid request; `StoreError` if the
    ///   store cannot be written.
    public func remove(_ endpoint: some Endpoint) async throws {
        let prepared = try await prepare(call(endpoint), for: .lookup)
        for request in await requestsWithStoredRedirects(from: prepared.request) {
            for key in lookupKeys(of: request) { try await invalidate(key, keepingForOffline: false) }
        }
    }

    /// The principal's own key first, then the common one. Empty if the request bypasses the store.
    func lookupKeys(of request: CacheRequest) -> [CacheKey] { engine.prepare(request)?.lookupKeys ?? [] }

    func isStored(_ key: CacheKey) async throws -> Bool { try await !store.responses.lookup(key).isEmpty }

    func invalidate(_ key: CacheKey, keepingForOffline: Bool) async throws {
        try await store.responses.invalidate(.key(key), keepingForOffline: keepingForOffline, at: clock.now())
    }
}

extension CacheManager {
    /// Unavailable: a store cannot make the key of a request, because the key depends on rules and
    /// credentials.
    @available(*, unavailable, message: "Get the key from the client: 'client.key(of: endpoint)'.")
    public func response(for request: CacheRequest) async throws -> RawResponse? { nil }
}
