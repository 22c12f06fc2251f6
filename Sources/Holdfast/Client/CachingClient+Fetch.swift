import HTTPCache
import HTTPCacheSemantics

extension CachingClient {
    /// One value, by a strategy that always has one.
    ///
    /// - Throws: ``HoldfastError``; `CancellationError` when the calling task is cancelled.
    public func fetch<E: Endpoint>(
        _ endpoint: E,
        _ strategy: SingleValueStrategy = .standard
    ) async throws -> Emission<E.Response> {
        try await fetch(endpoint, as: E.Response.self, strategy)
    }

    /// One value of a type that the call names, by a strategy that always has one.
    ///
    /// - Throws: ``HoldfastError``; `CancellationError` when the calling task is cancelled.
    public func fetch<Value: Decodable & Sendable>(
        _ endpoint: some Endpoint,
        as type: Value.Type,
        _ strategy: SingleValueStrategy = .standard
    ) async throws -> Emission<Value> {
        try await deliver(try request(for: endpoint), as: type, strategy.preference).emission
    }

    /// The stored value, however stale; `nil` where none is stored, its stale use is forbidden, or it is no value of this type.
    ///
    /// - Throws: ``HoldfastError``: the endpoint makes no request.
    public func fetch<E: Endpoint>(
        _ endpoint: E,
        _ strategy: StoredOnlyStrategy
    ) async throws -> Emission<E.Response>? {
        try await fetch(endpoint, as: E.Response.self, strategy)
    }

    /// The stored value of a type that the call names; see ``fetch(_:_:)-(_,StoredOnlyStrategy)``.
    public func fetch<Value: Decodable & Sendable>(
        _ endpoint: some Endpoint,
        as type: Value.Type,
        _ strategy: StoredOnlyStrategy
    ) async throws -> Emission<Value>? {
        try await stored(try request(for: endpoint), as: type)?.emission
    }
}

extension CachingClient {
    /// The stored value; `nil` where there is none that can be used as this type.
    func stored<Value: Decodable & Sendable>(
        _ request: CacheRequest,
        as type: Value.Type
    ) async throws -> Delivery<Value>? {
        guard engine.key(for: request) != nil, request.storage != .never else { return nil }
        var request = request
        request.preference = .storedOnly
        let target = request.target
        do {
            let response = try await engine.respond(to: request)
            return try await reader.read(response, as: type, target: target)
        } catch let error as ExchangeError where error.code == .offlineMiss || error.code == .staleForbidden {
            return nil
        } catch {
            try Task.checkCancellation()
            let error = HoldfastError(error, target: target)
            switch error.code {
            case .closed, .cancelled: throw error
            case .status: return nil
            default:
                // A miss for this type, and worth knowing; the stored bytes stay for the type that can read them.
                logger.warning("Stored response not usable", metadata: ["error": "\(error)"])
                return nil
            }
        }
    }

    /// A value by a preference; falls back to the store also where the network's answer broke off in its body.
    func deliver<Value: Decodable & Sendable>(
        _ request: CacheRequest,
        as type: Value.Type,
        _ preference: CacheRequest.Preference
    ) async throws -> Delivery<Value> {
        var request = request
        request.preference = preference
        let target = request.target
        do {
            return try await read(try await engine.respond(to: request), to: request, as: type)
        } catch {
            if error is CancellationError { throw error }
            throw HoldfastError(error, target: target)
        }
    }

    /// Reads and decodes an answer, or one from the other source where this one cannot be read.
    func read<Value: Decodable & Sendable>(
        _ response: CacheResponse,
        to request: CacheRequest,
        as type: Value.Type
    ) async throws -> Delivery<Value> {
        do {
            return try await reader.read(response, as: type, target: request.target)
        } catch {
            try Task.checkCancellation()
            guard let other = try await retry(request, as: type, after: error, from: response) else { throw error }
            return other
        }
    }

    /// A second source after the first one's body failed: the store for the network, the network for the store.
    private func retry<Value: Decodable & Sendable>(
        _ request: CacheRequest,
        as type: Value.Type,
        after error: any Error,
        from response: CacheResponse
    ) async throws -> Delivery<Value>? {
        let code = HoldfastError(error, target: "").code
        if response.stored != nil {
            guard mode != .offline, request.preference != .storedOnly, !request.ignoresStored else { return nil }
            switch code {
            case .status, .bodyTooLarge: return nil
            case .decodingFailed, .noData:
                // A miss for this type. What the origin confirmed is what it has.
                guard response.source == .store else { return nil }
                logger.warning("Stored response not usable", metadata: ["error": "\(error)"])
                return try await deliver(request, as: type, .networkOnly)
            default:
                // Damaged: a 304 would confirm what cannot be read, so the origin is asked for all of it, which is then stored.
                logger.warning("Stored response not readable", metadata: ["error": "\(error)"])
                var request = request
                request.ignoresStored = true
                return try await deliver(request, as: type, .networkOnly)
            }
        }
        guard code == .truncated, request.preference != .networkOnly else { return nil }
        var fallback = try await stored(request, as: type)
        fallback?.emission.outcome.detail = .offline
        return fallback
    }
}

extension CacheRequest {
    /// The target for messages, secrets redacted.
    var target: String { TargetURI(request: head)?.redacted ?? "?" }
}
