import HTTPCache

extension CachingClient {
    /// Returns the engine's response. If the engine has no permit for the request, nothing is sent.
    /// The call's policy then determines whether and when the request is tried again.
    ///
    /// The wait is not in ``RetryingTransport``, which retries requests that were sent, because a
    /// waiting request must not hold a permit.
    @concurrent
    func respondWhenAdmitted(to request: CacheRequest) async throws -> CacheResponse {
        let policy = (request.context as? CallContext)?.retry ?? .never
        var retries = 0
        while true {
            do {
                return try await engine.respond(to: request)
            } catch let error as ExchangeError where error.wasNotAdmitted && retries < policy.limit {
                let delay = policy.backOff(retries, jitter: Double.random(in: 0...1))
                logger.debug("Retrying a request", metadata: ["retry.number": "\(retries + 1)"])
                try await sleeper.sleep(for: delay)
                retries += 1
            }
        }
    }
}

extension ExchangeError {
    /// Whether the engine rejected the request because no permit became free in time. An error with
    /// a cause comes from the transport, which has already retried.
    fileprivate var wasNotAdmitted: Bool { code == .overloaded && cause == nil }
}
