import HTTPCache

extension CachingClient {
    /// Returns the engine's response. If the engine had no permit for the request, nothing was
    /// sent, and the request is tried again after a wait, by the call's policy.
    ///
    /// The wait is not with the retries of sent requests, because a waiting request must not hold a
    /// permit itself.
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
    /// a cause comes from the transport, which has already tried again.
    fileprivate var wasNotAdmitted: Bool { code == .overloaded && cause == nil }
}
