import HTTPCache

extension CachingClient {
    /// What is stored first, then what the network answers, on one stream.
    ///
    /// A stale stored value is emitted, marked so (unless a directive such as `must-revalidate` forbids it). The network is asked in any case, with the stored
    /// validators; an answer that confirms or repeats the stored content is emitted marked unchanged. Where the mode keeps the
    /// network out (`offline`, `preferStored`) the stream completes after a stored value.
    ///
    /// - Parameter failure: how the stream ends when the network fails after a stored value. Without a stored value it always throws.
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
        EmissionStream { emit in
            try await self.storedThenNetwork(
                endpoint,
                as: type,
                ifNetworkFails: failure,
                onStored: emit,
                onNetwork: emit
            )
        }
    }

    /// What is stored to a closure of its own, what the network answers to the request's. See ``startWith(_:ifNetworkFails:)`` for what is emitted.
    ///
    /// - Parameter onStored: called once at most, before the network's value, when the request has been started.
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
        OnCache(onStored: onStored) { onStored, onNetwork in
            try await self.storedThenNetwork(
                endpoint,
                as: type,
                ifNetworkFails: failure,
                onStored: onStored,
                onNetwork: onNetwork
            )
        }
    }

    /// The one core of both calls and both forms.
    private func storedThenNetwork<Value: Decodable & Sendable>(
        _ endpoint: some Endpoint,
        as type: Value.Type,
        ifNetworkFails failure: NetworkFailure,
        onStored: @Sendable (Emission<Value>) async -> Void,
        onNetwork: @Sendable (Emission<Value>) async -> Void
    ) async throws {
        let request = try request(for: endpoint)
        let stored = try await stored(request, as: type)
        // The mode bounds the strategy: declared offline is no failure of the network.
        if let stored, mode == .offline || mode == .preferStored { return await onStored(stored.emission) }
        do {
            // The origin is asked while the caller is busy with the stored value; it hears of the answer after that.
            async let fresh = network(request, as: type, after: stored)
            if let stored { await onStored(stored.emission) }
            await onNetwork(try await fresh)
        } catch {
            if error is CancellationError { throw error }
            let error = HoldfastError(error, target: request.target)
            if stored != nil, failure == .endingQuietly, error.isOfTheNetwork { return }
            throw error
        }
    }

    /// The network's value; marked unchanged where it is the stored one, which is then not decoded again.
    private func network<Value: Decodable & Sendable>(
        _ request: CacheRequest,
        as type: Value.Type,
        after stored: Delivery<Value>?
    ) async throws -> Emission<Value> {
        guard let stored else { return try await deliver(request, as: type, .networkOnly).emission }
        var request = request
        request.preference = .networkOnly
        let response = try await engine.respond(to: request)
        if response.isValidated, response.stored?.bodyID == stored.bodyID {
            return Emission(stored.emission.value, of: response, isUnchanged: true)
        }
        let fresh = try await read(response, to: request, as: type)
        var emission = fresh.emission
        emission.isUnchanged = fresh.bytes == stored.bytes
        return emission
    }
}
