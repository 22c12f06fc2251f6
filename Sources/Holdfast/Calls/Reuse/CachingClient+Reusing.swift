import HTTPCache

extension CachingClient {
    /// The response to a call's request; where the call chose so (``CallOptions/reuseWithin``), the
    /// one that came for the same request a short time ago, or comes for it now.
    func respondOrReuse<Value: Sendable>(
        to request: CacheRequest,
        _ call: Call<Value>,
        _ prepared: PreparedCall
    ) async throws -> CacheResponse {
        guard let window = call.options.reuseWithin, window >= .zero,
            let identity = RequestIdentity(sharing: request)
        else {
            let response = try await respond(to: request, call, prepared)
            // Who reuses must not go back behind what somebody has seen.
            if response.source == .network { recent.supersede(RequestIdentity(request)) }
            return response
        }
        let reading = prepared.reading
        let exchange = ExchangeIdentity(identity, request, call, bodyLimit: reading.maximumBodyBytes)
        return try await recent.response(to: exchange, within: window) {
            var request = request
            // It is nobody's alone, so it runs on no call's lane.
            request.place = .system
            return try await reading.collected(try await self.respond(to: request, call, prepared))
        }
    }

    /// Keeps a response from later calls that this one could not read.
    func forget<Value: Sendable>(_ request: CacheRequest, after call: Call<Value>) {
        guard call.options.reuseWithin != nil else { return }
        recent.forget(RequestIdentity(request))
    }
}

extension ContentReading {
    /// A response with its content in memory, so that several calls can read it. What breaks off
    /// does so for each of them.
    fileprivate func collected(_ response: CacheResponse) async throws -> CacheResponse {
        guard response.body.whole == nil else { return response }
        var response = response
        do {
            response.body = BodyStream(try await content(of: response))
        } catch {
            try Task.checkCancellation()
            response.body = BodyStream { { throw error } }
        }
        return response
    }
}
