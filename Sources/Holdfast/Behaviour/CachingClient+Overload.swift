import HTTPCache

extension CachingClient {
    /// The engine's response. Where the engine had no place for the request, nothing was sent: it
    /// is asked again after a wait, as the call's policy says.
    ///
    /// The wait is here, and not with the retries of what was sent: it must not hold a place
    /// itself.
    @concurrent
    func respondWhenAdmitted(to request: CacheRequest) async throws -> CacheResponse {
        let policy = (request.context as? CallContext)?.retry ?? .never
        var retries = 0
        while true {
            do {
                return try await engine.respond(to: request)
            } catch let error as ExchangeError where error.wasNotAdmitted && retries < policy.limit {
                let delay = policy.backOff(retries, jitter: Double.random(in: 0...1))
                logger.debug("Request is tried again", metadata: ["retry.number": "\(retries + 1)"])
                try await sleeper.sleep(for: delay)
                retries += 1
            }
        }
    }
}

extension ExchangeError {
    /// Whether the engine let it wait for a place in vain. With a cause it is the transport's,
    /// which was tried again already.
    fileprivate var wasNotAdmitted: Bool { code == .overloaded && cause == nil }
}
