extension CacheEngine {
    /// Responds to a request.
    ///
    /// Returns when the head is known; the body streams after it. Canceling the calling task ends
    /// this exchange. It also ends the underlying fetch if no other caller waits for it.
    /// - Throws: ``ExchangeError``, or `CancellationError`.
    @concurrent
    public func respond(to request: CacheRequest) async throws -> CacheResponse {
        guard let prepared = prepare(request) else {
            let error = inFlightFetches.isClosed ? ExchangeError.shutDown(request) : .invalidTarget(request)
            record(error, of: request)
            throw error
        }
        return try await respond(to: prepared)
    }

    /// Responds to a request that was just prepared.
    @concurrent
    package func respond(to prepared: PreparedRequest) async throws -> CacheResponse {
        try await respond(ExchangeFlow(prepared, options: options, now: clock.now()), from: .nothing)
    }

    func respond(_ flow: ExchangeFlow, from beginning: Exchange.Beginning) async throws -> CacheResponse {
        try await recording(flow.prepared) {
            var response: CacheResponse
            if let key = flow.prepared.key {
                var exchange = Exchange(flow, key: key, on: self)
                response = try await exchange.run(from: beginning)
                response.forecastSubject = exchange.flow.forecastSubject
            } else {
                response = try await forward(flow.prepared)
            }
            flow.prepared.rules?.edit(&response)
            return response
        }
    }
}
