extension Call {
    /// The emissions of this call. Nothing happens before they are iterated or subscribed to.
    ///
    /// With ``cache``: what is stored first, then what the network answers. Without it: what the
    /// network answers.
    public func request() -> EmissionStream<Value> {
        EmissionStream(running: self)
    }

    /// Starts, with the emissions to one callback, a `Result` each: any number of successes, then
    /// the end: one failure, or `onCompleted`.
    ///
    /// ```swift
    /// let subscription = GitHub.user("octocat").cache.on(client).results(onCompleted: { stopSpinning() }) { result in
    ///     result.onSuccess { show($0.value) }.onFailure { report($0) }
    /// }
    /// ```
    ///
    /// - Parameter onCompleted: called after the last success, where no failure is the end.
    /// - Returns: the subscription. Letting go of it cancels the request.
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

    /// The stored value to a closure of its own, the network's to the request's. See ``OnCache``.
    ///
    /// - Parameter onStored: called once at most, before the network's value, when the request has
    ///   been started.
    public func onCache(_ onStored: @escaping @Sendable (Emission<Value>) -> Void) -> OnCache<Value> {
        OnCache(call: cache, onStored: onStored)
    }

    /// One value, by a strategy that always has one.
    ///
    /// - Parameter strategy: the endpoint's where none is given. Without ``cache`` only the network
    ///   answers, whatever it is.
    /// - Throws: ``HoldfastError``; `CancellationError` when the calling task is cancelled.
    public func fetch(_ strategy: SingleValueStrategy? = nil) async throws -> Emission<Value> {
        let client = try resolvedClient()
        let strategy = usesStore ? strategy ?? endpoint.strategy : .networkOnly
        return try await client.deliver(self, strategy).emission
    }

    /// The stored value, however stale; `nil` where none is stored, its stale use is forbidden, or
    /// it is no value of this type.
    ///
    /// - Throws: ``HoldfastError``: the endpoint makes no request.
    public func fetch(_ strategy: StoredOnlyStrategy) async throws -> Emission<Value>? {
        let client = try resolvedClient()
        return try await client.stored(self, try await client.prepare(self, for: .lookup))?.emission
    }

    /// What is stored first, then what the network answers: ``cache`` and ``request()`` as a
    /// strategy.
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
