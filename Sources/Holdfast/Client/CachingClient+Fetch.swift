extension CachingClient {
    /// One value, by a strategy that always has one.
    ///
    /// - Parameter strategy: the endpoint's own unless told otherwise.
    /// - Throws: ``HoldfastError``; `CancellationError` when the calling task is cancelled.
    public func fetch<E: Endpoint>(
        _ endpoint: E,
        _ strategy: SingleValueStrategy? = nil
    ) async throws -> Emission<E.Response> {
        try await call(endpoint).fetch(strategy)
    }

    /// One value of a type that the call names, by a strategy that always has one.
    ///
    /// - Throws: ``HoldfastError``; `CancellationError` when the calling task is cancelled.
    public func fetch<Value: Decodable & Sendable>(
        _ endpoint: some Endpoint,
        as type: Value.Type,
        _ strategy: SingleValueStrategy? = nil
    ) async throws -> Emission<Value> {
        try await call(endpoint, as: type).fetch(strategy)
    }

    /// The stored value, however stale; `nil` where none is stored, its stale use is forbidden, or
    /// it is no value of this type.
    ///
    /// - Throws: ``HoldfastError``: the endpoint makes no request.
    public func fetch<E: Endpoint>(
        _ endpoint: E,
        _ strategy: StoredOnlyStrategy
    ) async throws -> Emission<E.Response>? {
        try await call(endpoint).fetch(strategy)
    }

    /// The stored value of a type that the call names; see ``fetch(_:_:)-(_,StoredOnlyStrategy)``.
    public func fetch<Value: Decodable & Sendable>(
        _ endpoint: some Endpoint,
        as type: Value.Type,
        _ strategy: StoredOnlyStrategy
    ) async throws -> Emission<Value>? {
        try await call(endpoint, as: type).fetch(strategy)
    }

    /// What is stored first, then what the network answers: ``startWith(_:ifNetworkFails:)`` as a
    /// strategy.
    public func fetch<E: Endpoint>(
        _ endpoint: E,
        _ strategy: CacheAndNetworkStrategy
    ) -> EmissionStream<E.Response> {
        call(endpoint).fetch(strategy)
    }
}

extension CachingClient {
    /// What is stored first, then what the network answers, on one stream.
    ///
    /// A stale stored value is emitted, marked so (unless a directive such as `must-revalidate`
    /// forbids it). The network is asked in any case, with the stored validators; an answer that
    /// confirms or repeats the stored content is emitted marked unchanged. Where the mode keeps the
    /// network out (`offline`, `preferStored`) the stream completes after a stored value. ``Call``
    /// has more to choose.
    ///
    /// To name an endpoint by its case alone, say first of which type:
    /// `client.of(MovieAPI.self).startWith(.newMovies(page: 1))`. See ``of(_:)``.
    ///
    /// - Parameter failure: how the stream ends when the network fails after a stored value.
    ///   Without a stored value it always throws.
    public func startWith<E: Endpoint>(
        _ endpoint: E,
        ifNetworkFails failure: NetworkFailure = .throwing
    ) -> EmissionStream<E.Response> {
        startWith(endpoint, as: E.Response.self, ifNetworkFails: failure)
    }

    /// As ``startWith(_:ifNetworkFails:)``, with a type that the call names.
    public func startWith<Value: Decodable & Sendable>(
        _ endpoint: some Endpoint,
        as type: Value.Type,
        ifNetworkFails failure: NetworkFailure = .throwing
    ) -> EmissionStream<Value> {
        call(endpoint, as: type).with { $0.networkFailure = failure }.request()
    }

    /// What is stored to a closure of its own, what the network answers to the request's. See
    /// ``startWith(_:ifNetworkFails:)`` for what is emitted.
    ///
    /// - Parameter onStored: called once at most, before the network's value, when the request has
    ///   been started.
    public func onCache<E: Endpoint>(
        _ endpoint: E,
        ifNetworkFails failure: NetworkFailure = .throwing,
        _ onStored: @escaping @Sendable (Emission<E.Response>) -> Void
    ) -> OnCache<E.Response> {
        onCache(endpoint, as: E.Response.self, ifNetworkFails: failure, onStored)
    }

    /// As ``onCache(_:ifNetworkFails:_:)``, with a type that the call names.
    public func onCache<Value: Decodable & Sendable>(
        _ endpoint: some Endpoint,
        as type: Value.Type,
        ifNetworkFails failure: NetworkFailure = .throwing,
        _ onStored: @escaping @Sendable (Emission<Value>) -> Void
    ) -> OnCache<Value> {
        call(endpoint, as: type).with { $0.networkFailure = failure }.onCache(onStored)
    }
}
