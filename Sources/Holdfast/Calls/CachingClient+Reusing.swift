import HTTPCache

extension CachingClient {
    /// Returns the response to a call's request. If the call allows reuse
    /// (``CallOptions/reuseWithin``), this may be a recent response to the same request, or a
    /// response that another call is waiting for.
    func respondOrReuse<Value: Sendable>(
        to request: CacheRequest,
        _ call: Call<Value>,
        _ prepared: PreparedCall
    ) async throws -> CacheResponse {
        guard let window = call.options.reuseWithin, window >= .zero,
            let identity = RequestIdentity(sharing: request)
        else {
            let response = try await respond(to: request, call, prepared)
            // A later call that reuses responses must not get one that is older than this.
            if response.source == .network { recent.supersede(RequestIdentity(request)) }
            return response
        }
        let reading = prepared.reading
        let exchange = ExchangeIdentity(
            identity,
            request,
            for: call.endpoint,
            as: Value.self,
            softTimeout: call.softTimeout,
            bodyLimit: reading.maximumBodyBytes
        )
        return try await recent.response(to: exchange, within: window) {
            var request = request
            // The exchange serves several calls, so it does not run on any single call's executor.
            request.executionContext = .system
            return try await reading.collect(try await self.respond(to: request, call, prepared))
        }
    }

    /// Removes the kept response to a request, because this call could not read it.
    func forget<Value: Sendable>(_ request: CacheRequest, after call: Call<Value>) {
        guard call.options.reuseWithin != nil else { return }
        recent.forget(RequestIdentity(request))
    }
}

extension ContentReading {
    /// Returns the response with its content in memory, so that several calls can read it. If the
    /// body broke off, reading it fails for each call.
    fileprivate func collect(_ response: CacheResponse) async throws -> CacheResponse {
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
