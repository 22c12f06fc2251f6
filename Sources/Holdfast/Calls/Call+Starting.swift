extension Call {
    /// Returns the emissions of this call. The request starts when they are iterated or subscribed
    /// to.
    ///
    /// With ``cache``, emits the stored value first, then the network's. Without it, emits only the
    /// network's.
    public func request() -> EmissionStream<Value> {
        EmissionStream(running: self)
    }

    /// Starts the request and passes each emission to one callback, as a `Result`: any number of
    /// successes, then the end, which is one failure or `onCompleted`.
    ///
    /// ```swift
    /// let call = GitHub.user("octocat").cache.on(client)
    /// let subscription = call.results(onCompleted: { stopSpinning() }) { result in
    ///     result.onSuccess { show($0.value) }.onFailure { report($0) }
    /// }
    /// ```
    ///
    /// - Parameter onCompleted: called after the last success, unless the request ends with a
    ///   failure.
    /// - Returns: the subscription. Releasing it cancels the request.
    public func results(
        on executor: CallbackExecutor = .concurrent,
        onCompleted: @escaping @Sendable () -> Void = {},
        _ onResult: @escaping @Sendable (Result<Emission<Value>, HoldfastError>) -> Void
    ) -> Subscription {
        request().subscribe(
            on: executor,
            onNext: { onResult(.success($0)) },
            onError: { onResult(.failure($0)) },
            onCompleted: onCompleted
        )
    }

    /// Passes the stored value to a closure of its own, and the network's to the request's. See
    /// ``OnCache``.
    ///
    /// - Parameter onStored: called at most once, before the network's value, after the request has
    ///   been started.
    public func onCache(_ onStored: @escaping @Sendable (Emission<Value>) -> Void) -> OnCache<Value> {
        OnCache(call: cache, onStored: onStored)
    }

    /// Fetches one value, by a strategy that always has one.
    ///
    /// The strategy decides how the store is used, with or without ``cache``:
    /// `GetFeed().on(client).fetch()` is `client.fetch(GetFeed())`.
    ///
    /// - Parameter strategy: the endpoint's by default.
    /// - Throws: ``HoldfastError``; `CancellationError` if the calling task is cancelled.
    public func fetch(_ strategy: SingleValueStrategy? = nil) async throws -> Emission<Value> {
        try await resolvedClient().deliver(cache, strategy ?? endpoint.strategy).emission
    }

    /// Returns the stored value, however stale, with or without ``cache``. Returns `nil` if nothing
    /// is stored, if its stale use is forbidden, or if it cannot be read as this type.
    ///
    /// - Throws: ``HoldfastError`` if the endpoint makes no valid request.
    public func fetch(_ strategy: StoredOnlyStrategy) async throws -> Emission<Value>? {
        let client = try resolvedClient()
        return try await client.stored(cache, try await client.prepareLookup(cache))?.emission
    }

    /// Emits the stored value first, then the network's: ``cache`` and ``request()`` as a strategy.
    public func fetch(_ strategy: CacheAndNetworkStrategy) -> EmissionStream<Value> {
        cache.request()
    }

    func resolvedClient() throws -> CachingClient {
        guard let client = client ?? CachingClient.current else {
            throw HoldfastError(
                code: .noClient,
                message:
                    "The call for '\(Swift.type(of: endpoint))' has no client. Pass one with 'on(_:)', or set 'CachingClient.$current' around it."
            )
        }
        return client
    }
}
