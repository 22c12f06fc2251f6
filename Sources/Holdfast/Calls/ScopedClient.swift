public import HoldfastContent

extension CachingClient {
    /// Returns this client limited to one endpoint type, so that you can write an endpoint as a dot
    /// and its case.
    ///
    /// ```swift
    /// let movies = client.of(MovieAPI.self)
    /// for try await page in movies.startWith(.newMovies(page: 1)) { show(page.value) }
    /// ```
    public func of<E: Endpoint>(_ type: E.Type) -> ScopedClient<E, E.Response> { ScopedClient(client: self) }
}

/// A client for the endpoints of one type; see ``CachingClient/of(_:)``.
///
/// Its functions do the same as the client's functions of the same names. If the endpoints return
/// bytes, ``as(_:)`` sets the type to decode: `movies.as([Movie].self).fetch(.newMovies(page: 1))`.
public struct ScopedClient<E: Endpoint, Value: Decodable & Sendable>: Sendable {
    /// The underlying client.
    public let client: CachingClient

    /// Returns the same client for the same endpoints, decoded as another type.
    public func `as`<Other: Decodable & Sendable>(_ type: Other.Type) -> ScopedClient<E, Other> {
        ScopedClient<E, Other>(client: client)
    }

    /// Creates a call that uses the store: the start of a chain of steps.
    public func call(_ endpoint: E) -> Call<Value> { client.call(endpoint, as: Value.self) }

    /// Fetches one value, with a strategy that always produces one; by default, the endpoint's own.
    ///
    /// - Throws: `HoldfastError`, with code `cancelled` if the calling task is canceled.
    public func fetch(
        _ endpoint: E,
        _ strategy: SingleValueStrategy? = nil
    ) async throws(HoldfastError) -> Emission<Value> {
        try await call(endpoint).fetch(strategy)
    }

    /// Emits the stored value first, then the network's; see
    /// ``CachingClient/startWith(_:ifNetworkFails:)``.
    public func startWith(
        _ endpoint: E,
        ifNetworkFails failure: NetworkFailure = .throwing
    ) -> EmissionStream<Value> {
        client.startWith(endpoint, as: Value.self, ifNetworkFails: failure)
    }

    /// Passes the stored value to a separate closure, and the network's value to the request's own;
    /// see ``CachingClient/onCache(_:ifNetworkFails:_:)``.
    public func onCache(
        _ endpoint: E,
        ifNetworkFails failure: NetworkFailure = .throwing,
        _ onStored: @escaping @Sendable (Emission<Value>) -> Void
    ) -> OnCache<Value> {
        client.onCache(endpoint, as: Value.self, ifNetworkFails: failure, onStored)
    }

    /// Returns the stored value, however stale; see ``CachingClient/stored(_:)``.
    ///
    /// - Throws: `HoldfastError` if the endpoint does not make a valid request, if a plugin
    ///   fails, or if the client is closed; with code `cancelled` if the calling task is canceled.
    public func stored(_ endpoint: E) async throws(HoldfastError) -> Emission<Value>? {
        try await client.stored(endpoint, as: Value.self)
    }

    /// Changes the stored value; see ``CachingClient/update(_:encoder:_:)``.
    @discardableResult
    public func update(
        _ endpoint: E,
        encoder: any ContentEncoder = JSONContentEncoder(),
        _ change: (inout Value) throws -> Void
    ) async throws -> StoredUpdate<Value> where Value: Encodable {
        try await client.update(endpoint, as: Value.self, encoder: encoder, change)
    }

    /// Stores a value; see ``CachingClient/set(_:_:encoder:)``.
    @discardableResult
    public func set(
        _ endpoint: E,
        _ value: Value,
        encoder: any ContentEncoder = JSONContentEncoder()
    ) async throws -> StoredUpdate<Value> where Value: Encodable {
        try await client.set(endpoint, value, as: Value.self, encoder: encoder)
    }

    /// Makes the stored response stale; see ``CachingClient/invalidate(_:)``.
    public func invalidate(_ endpoint: E) async throws { try await client.invalidate(endpoint) }

    /// Removes the stored response; see ``CachingClient/remove(_:)``.
    public func remove(_ endpoint: E) async throws { try await client.remove(endpoint) }
}
