public import HoldfastContent

extension CachingClient {
    /// Fetches one value.
    ///
    /// - Parameter strategy: the endpoint's own by default.
    /// - Throws: `HoldfastError`, with code `cancelled` if the calling task is canceled.
    public func fetch<E: Endpoint>(
        _ endpoint: E,
        _ strategy: SingleValueStrategy? = nil
    ) async throws(HoldfastError) -> Emission<E.Response> {
        try await call(endpoint).fetch(strategy)
    }

    /// Fetches one value as an explicit type.
    ///
    /// - Throws: `HoldfastError`, with code `cancelled` if the calling task is canceled.
    public func fetch<Value: Decodable & Sendable>(
        _ endpoint: some Endpoint,
        as type: Value.Type,
        _ strategy: SingleValueStrategy? = nil
    ) async throws(HoldfastError) -> Emission<Value> {
        try await call(endpoint, as: type).fetch(strategy)
    }
}

extension CachingClient {
    /// Emits the stored value first, then the network's value, on one stream.
    ///
    /// A stale stored value is emitted and marked, unless a directive such as `must-revalidate`
    /// forbids it. The client also contacts the origin, with the stored validators. A response that
    /// confirms or repeats the stored content is emitted and marked unchanged. If the mode prevents
    /// network use (`offline`, `preferStored`), the stream completes after the stored value.
    /// ``Call`` offers more options.
    ///
    /// To write only an endpoint's case, name its type first:
    /// `client.of(MovieAPI.self).startWith(.newMovies(page: 1))`. See ``of(_:)``.
    ///
    /// - Parameter failure: how the stream ends if the network fails after a stored value. If there
    ///   was no stored value, it always throws.
    public func startWith<E: Endpoint>(
        _ endpoint: E,
        ifNetworkFails failure: NetworkFailure = .throwing
    ) -> EmissionStream<E.Response> {
        startWith(endpoint, as: E.Response.self, ifNetworkFails: failure)
    }

    /// Does the same as ``startWith(_:ifNetworkFails:)``, with an explicit type.
    public func startWith<Value: Decodable & Sendable>(
        _ endpoint: some Endpoint,
        as type: Value.Type,
        ifNetworkFails failure: NetworkFailure = .throwing
    ) -> EmissionStream<Value> {
        call(endpoint, as: type).with { $0.networkFailure = failure }.request()
    }

    /// Passes the stored value to a separate closure, and the network's value to the request's own.
    /// The same values are emitted as by ``startWith(_:ifNetworkFails:)``.
    ///
    /// - Parameter onStored: called at most once, after the request has started and before the
    ///   network's value.
    public func onCache<E: Endpoint>(
        _ endpoint: E,
        ifNetworkFails failure: NetworkFailure = .throwing,
        _ onStored: @escaping @Sendable (Emission<E.Response>) -> Void
    ) -> OnCache<E.Response> {
        onCache(endpoint, as: E.Response.self, ifNetworkFails: failure, onStored)
    }

    /// Does the same as ``onCache(_:ifNetworkFails:_:)``, with an explicit type.
    public func onCache<Value: Decodable & Sendable>(
        _ endpoint: some Endpoint,
        as type: Value.Type,
        ifNetworkFails failure: NetworkFailure = .throwing,
        _ onStored: @escaping @Sendable (Emission<Value>) -> Void
    ) -> OnCache<Value> {
        call(endpoint, as: type).with { $0.networkFailure = failure }.onCache(onStored)
    }
}
