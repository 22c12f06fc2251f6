extension CachingClient {
    /// This client for the endpoints of one type: one dot lists them all, with their parameters.
    ///
    /// ```swift
    /// let movies = client.of(MovieAPI.self)
    /// for try await page in movies.startWith(.newMovies(page: 1)) { show(page.value) }
    /// ```
    public func of<E: Endpoint>(_ type: E.Type) -> ScopedClient<E, E.Response> { ScopedClient(client: self) }
}

/// A client for the endpoints of one type; see ``CachingClient/of(_:)``.
///
/// It has the client's doors and adds nothing to them. Where the endpoints answer with bytes,
/// ``as(_:)`` names what they decode to: `movies.as([Movie].self).fetch(.newMovies(page: 1))`.
public struct ScopedClient<E: Endpoint, Value: Decodable & Sendable>: Sendable {
    /// The client itself.
    public let client: CachingClient

    /// The same endpoints, decoded as another type.
    public func `as`<Other: Decodable & Sendable>(_ type: Other.Type) -> ScopedClient<E, Other> {
        ScopedClient<E, Other>(client: client)
    }

    /// A call that uses the store: the beginning of a chain of steps.
    public func call(_ endpoint: E) -> Call<Value> { client.call(endpoint, as: Value.self) }

    /// One value, by a strategy that always has one; the endpoint's own unless told otherwise.
    ///
    /// - Throws: ``HoldfastError``; `CancellationError` when the calling task is cancelled.
    public func fetch(_ endpoint: E, _ strategy: SingleValueStrategy? = nil) async throws -> Emission<Value> {
        try await call(endpoint).fetch(strategy)
    }

    /// What is stored first, then what the network answers; see
    /// ``CachingClient/startWith(_:ifNetworkFails:)``.
    public func startWith(
        _ endpoint: E,
        ifNetworkFails failure: NetworkFailure = .throwing
    ) -> EmissionStream<Value> {
        client.startWith(endpoint, as: Value.self, ifNetworkFails: failure)
    }

    /// The stored value to a closure of its own, the network's to the request's; see
    /// ``CachingClient/onCache(_:ifNetworkFails:_:)``.
    public func onCache(
        _ endpoint: E,
        ifNetworkFails failure: NetworkFailure = .throwing,
        _ onStored: @escaping @Sendable (Emission<Value>) -> Void
    ) -> OnCache<Value> {
        client.onCache(endpoint, as: Value.self, ifNetworkFails: failure, onStored)
    }

    /// The stored value, however stale; see ``CachingClient/stored(_:)``.
    ///
    /// - Throws: ``HoldfastError``: the endpoint makes no request.
    public func stored(_ endpoint: E) async throws -> Emission<Value>? {
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

    /// Makes what is stored stale; see ``CachingClient/invalidate(_:)``.
    public func invalidate(_ endpoint: E) async throws { try await client.invalidate(endpoint) }

    /// Removes what is stored; see ``CachingClient/remove(_:)``.
    public func remove(_ endpoint: E) async throws { try await client.remove(endpoint) }
}
