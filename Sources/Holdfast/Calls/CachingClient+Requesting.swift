import HTTPCache
import HTTPTypes
import HoldfastContent

extension CachingClient {
    /// Returns a call's request with a check that runs before its response is stored.
    ///
    /// - Returns: the request, and the place where the check leaves the value that it decoded.
    func makeCheckedRequest<Value: Sendable>(
        _ prepared: PreparedCall,
        _ call: Call<Value>,
        _ preference: CacheRequest.Preference? = nil
    ) -> (CacheRequest, Judgement<Value>?) {
        var request = prepared.request
        if let preference { request.preference = preference }
        guard request.storage != .never else { return (request, nil) }
        let judgement = Judgement<Value>()
        let check = prepared.reading.check(call, keepingFor: judgement)
        request.contentCheck = judgingRedirects(of: request, call, prepared, by: check)
        if prepared.reading.decoding.takesBytes(call.decoded) {
            request.goodDataGuard = configuration.goodDataGuard
        }
        return (request, judgement)
    }

    /// Returns the engine's response, after redirects. If the origin rejected the request and a
    /// plugin recovers from the rejection, returns the response to the remade request.
    ///
    /// - Parameter adjust: repeats, on the remade request, the changes that were made to the first
    ///   request after it was prepared.
    @concurrent
    func respond<Value: Sendable>(
        to request: CacheRequest,
        _ call: Call<Value>,
        _ prepared: PreparedCall,
        adjust: (inout CacheRequest) -> Void = { _ in }
    ) async throws -> CacheResponse {
        let response = try await follow(request, call, prepared)
        let plugins = plugins.and(call.options.plugins)
        guard response.source == .network, !plugins.recovering.isEmpty,
            !prepared.reading.acceptedStatuses.contains(response.head.status)
        else { return response }
        do {
            let rejected = response.redirects?.last ?? request
            for plugin in plugins.recovering
            where try await plugin.recover(from: response.head, to: rejected, for: prepared.reading.info) {
                var again = try await prepare(call, for: .network, attempt: 1).request
                again.preference = request.preference
                again.ignoresStored = request.ignoresStored
                again.contentCheck = request.contentCheck
                again.goodDataGuard = request.goodDataGuard
                adjust(&again)
                return try await follow(again, call, prepared)
            }
        } catch {
            if error is CancellationError || error is ExchangeError { throw error }
            throw HoldfastError(error, target: prepared.target)
        }
        return response
    }

    /// Registers a persisted GraphQL query if the server did not know its hash, and returns the
    /// response. Returns `nil` for any other error.
    func registerQuery<Value: Sendable>(
        _ call: Call<Value>,
        _ prepared: PreparedCall,
        after error: any Error
    ) async throws -> Delivery<Value>? {
        guard (error as? HoldfastError)?.graphQLErrors?.isPersistedQueryUnknown == true,
            let registering = try call.endpoint.registeringRequest(
                environment: configuration.environment,
                defaults: configuration.defaults
            )
        else { return nil }
        var (request, judgement) = makeCheckedRequest(prepared, call)
        request.head.method = registering.head.method
        request.head.path = registering.head.path
        request.head.headerFields[.contentType] = registering.head.headerFields[.contentType]
        request.body = registering.body
        request.keysContent = registering.keysContent
        request.storage = registering.storage
        request.invalidatesTarget = registering.invalidatesTarget
        return try await prepared.reading.read(try await follow(request, call, prepared), call.interpret, judgement)
    }

    /// Converts the engine's errors to `HoldfastError`.
    func convertErrors<Result>(_ prepared: PreparedCall, _ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch {
            if error is CancellationError { throw error }
            throw HoldfastError(error, target: prepared.target)
        }
    }
}
