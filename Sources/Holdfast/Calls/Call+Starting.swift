public import HoldfastContent

extension Call {
    /// Returns the emissions of this call. The request starts when the stream is iterated or
    /// subscribed to.
    ///
    /// With ``cache``, the stream emits the stored value first, then the network's value. Without
    /// it, the stream emits only the network's value.
    public func request() -> EmissionStream<Value> {
        EmissionStream(running: self)
    }

    /// Starts the request and passes each emission to one callback as a `Result`: any number of
    /// successes, then either one failure or `onCompleted`.
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
    ) -> StreamSubscription {
        request().subscribe(
            on: executor,
            onNext: { onResult(.success($0)) },
            onError: { onResult(.failure($0)) },
            onCompleted: onCompleted
        )
    }

    /// Passes the stored value to a separate closure, and the network's value to the request's own.
    /// See ``OnCache``.
    ///
    /// - Parameter onStored: called at most once, after the request has started and before the
    ///   network's value.
    public func onCache(_ onStored: @escaping @Sendable (Emission<Value>) -> Void) -> OnCache<Value> {
        OnCache(call: cache, onStored: onStored)
    }

    /// Fetches one value.
    ///
    /// The strategy determines how the store is used, with or without ``cache``:
    /// `GetFeed().on(client).fetch()` is the same as `client.fetch(GetFeed())`.
    ///
    /// - Parameter strategy: the endpoint's own by default.
    /// - Throws: `HoldfastError`, with code `cancelled` if the calling task is canceled.
    public func fetch(_ strategy: SingleValueStrategy? = nil) async throws(HoldfastError) -> Emission<Value> {
        try await converting { try await resolvedClient().deliver(cache, strategy ?? endpoint.strategy).emission }
    }

    /// Returns the stored value, however stale, with or without ``cache``. Returns `nil` if no
    /// value is stored, if stale use is forbidden, or if the value cannot be read as this type.
    /// Never contacts the network.
    ///
    /// - Throws: `HoldfastError` if the endpoint does not make a valid request, if a plugin
    ///   fails, or if the client is closed; with code `cancelled` if the calling task is canceled.
    public func stored() async throws(HoldfastError) -> Emission<Value>? {
        try await converting {
            let client = try resolvedClient()
            return try await client.stored(cache, try await client.prepareLookup(cache))?.emission
        }
    }

    /// Runs `body`, and converts every other error to a `HoldfastError` with the error as its
    /// cause.
    private func converting<Result>(_ body: () async throws -> Result) async throws(HoldfastError) -> Result {
        do {
            return try await body()
        } catch {
            // Other errors name their request already, or come before it.
            throw HoldfastError(error, target: error is CancellationError ? target : name)
        }
    }

    /// The request's URL for messages, with secrets redacted; the name if no request can be made.
    private var target: String {
        guard let client = try? resolvedClient(),
            let reading = try? client.reading(ofFailed: self, client.plugins.and(options.plugins))
        else { return name }
        return reading.target.description
    }

    func resolvedClient() throws -> CachingClient {
        guard let client = client ?? CachingClient.current else {
            throw HoldfastError(
                code: .noClient,
                message:
                    "The call for '\(Swift.type(of: endpoint))' has no client. Pass a client with 'on(_:)', or set one with 'CachingClient.$current.withValue'."
            )
        }
        return client
    }
}
