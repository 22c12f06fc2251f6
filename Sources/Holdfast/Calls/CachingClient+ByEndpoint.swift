import HTTPCache
public import HTTPCacheSemantics
public import HoldfastContent
public import OfflineStore

/// Access to stored responses by endpoint.
///
/// The client makes the request as it does for a call, with its defaults, rules and plugins. These
/// functions therefore find the same response as a call by this client. They do not send the
/// request.
extension CachingClient {
    /// Returns the stored value, however stale. Returns `nil` if no value is stored, if stale use
    /// is forbidden, or if the value cannot be read as this type. Never contacts the network.
    ///
    /// - Throws: `HoldfastError` if the endpoint does not make a valid request, if a plugin
    ///   fails, or if the client is closed; with code `cancelled` if the calling task is canceled.
    public func stored<E: Endpoint>(_ endpoint: E) async throws(HoldfastError) -> Emission<E.Response>? {
        try await call(endpoint).stored()
    }

    /// Returns the stored value as an explicit type; see ``stored(_:)``.
    public func stored<Value: Decodable & Sendable>(
        _ endpoint: some Endpoint,
        as type: Value.Type
    ) async throws(HoldfastError) -> Emission<Value>? {
        try await call(endpoint, as: type).stored()
    }

    /// Returns the key under which the endpoint's response is stored. If no response is stored,
    /// returns the key that the client looks up first. Returns `nil` if the request bypasses the
    /// store, as a mutation does.
    ///
    /// ```swift
    /// if let key = try await client.key(of: endpoint) {
    ///     let response = try await client.store.response(for: key)
    /// }
    /// ```
    ///
    /// A request with a principal has two keys: the principal's own key, and the common key for
    /// responses that every principal may use. All variants (`Vary`) share a key. A redirect and
    /// the response that it leads to have different keys; this function returns the redirect's key.
    /// - Throws: `HoldfastError` if the endpoint does not make a valid request or a plugin fails;
    ///   `StoreError` if the store cannot be read.
    public func key(of endpoint: some Endpoint) async throws -> StoreKey? {
        let keys = lookupKeys(of: try await prepareLookup(call(endpoint)).request)
        for key in keys {
            if try await isStored(key) { return key }
        }
        return keys.first
    }

    /// Makes an endpoint's stored response stale, for every principal and in all variants.
    /// ``Endpoint/invalidates`` does the same after a mutation. If the origin is unreachable, the
    /// response may still be served, unless a directive such as `must-revalidate`, or an earlier
    /// unsafe request, forbids it.
    ///
    /// If many requests share one URL and differ by their content (as in GraphQL over POST), only
    /// the responses that this request would find become stale: those of its principal, and those
    /// in common use.
    ///
    /// Stored redirects that the endpoint follows become stale, too, and so do the responses that
    /// they lead to.
    ///
    /// The change is durable when the function returns, unless the disk is full or read-only. In
    /// that case, the change takes effect immediately, but may not survive the end of the process.
    /// A response that is being fetched at the time is not stored. Streams that follow the store
    /// are notified (``CallOptions/followsStore``).
    /// - Throws: `HoldfastError` if the endpoint does not make a valid request or a plugin fails;
    ///   `StoreError` if the store cannot be written.
    public func invalidate(_ endpoint: some Endpoint) async throws {
        let prepared = try await prepareLookup(call(endpoint))
        for request in await requestsWithStoredRedirects(from: prepared.request) {
            let keys = lookupKeys(of: request)
            if keys.contains(where: { $0.components.content != nil }) {
                for key in keys { try await invalidate(key, keepingForOffline: true) }
            } else {
                try await engine.invalidate(request, keepingForOffline: true)
            }
        }
    }

    /// Removes an endpoint's stored responses, in all variants: those of its request's principal,
    /// and those in common use. Responses of other principals stay. Stored redirects that the
    /// endpoint follows are removed along with the responses that they lead to.
    ///
    /// Afterward, no response can be served if the origin is unreachable. To keep the response for
    /// that case, use ``invalidate(_:)``.
    ///
    /// The change is durable when the function returns, unless the disk is full or read-only. In
    /// that case, the change takes effect immediately, but may not survive the end of the process.
    /// A response that is being fetched at the time is not stored.
    /// - Throws: `HoldfastError` if the endpoint does not make a valid request or a plugin fails;
    ///   `StoreError` if the store cannot be written.
    public func remove(_ endpoint: some Endpoint) async throws {
        let prepared = try await prepareLookup(call(endpoint))
        for request in await requestsWithStoredRedirects(from: prepared.request) {
            for key in lookupKeys(of: request) { try await invalidate(key, keepingForOffline: false) }
        }
    }

    /// Returns the principal's own key, then the common key. Empty if the request bypasses the
    /// store.
    func lookupKeys(of request: CacheRequest) -> [StoreKey] { engine.prepare(request)?.lookupKeys ?? [] }

    func isStored(_ key: StoreKey) async throws -> Bool { try await !store.responses.lookup(key).isEmpty }

    func invalidate(_ key: StoreKey, keepingForOffline: Bool) async throws {
        try await store.responses.invalidate(.key(key), keepingForOffline: keepingForOffline, at: clock.now())
    }
}

extension CacheManager {
    /// Unavailable: a store cannot make the key of a request, because the key depends on rules and
    /// credentials.
    @available(*, unavailable, message: "Get the key from the client: 'client.key(of: endpoint)'.")
    public func response(for request: CacheRequest) async throws -> RawResponse? { nil }
}
