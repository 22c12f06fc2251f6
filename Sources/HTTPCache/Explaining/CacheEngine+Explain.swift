public import HTTPCacheSemantics
import HTTPTypes

extension CacheEngine {
    /// Says how a request would be answered, and why, without answering it: no socket is opened, and nothing is written.
    ///
    /// The request is taken as if it came alone: another's fetch that is under way is not waited for. What would be served is opened, as it would be to be served, so that a body that
    /// is gone is told of.
    ///
    /// ```swift
    /// let explanation = try await engine.explain(CacheRequest(head: head))
    /// print(explanation.now.summary)
    /// // Would be answered from the store: fresh for another 3 m 20 s (max-age=300).
    /// ```
    ///
    /// - Parameter instant: when; `nil` for the engine's clock. What is known of the origin now counts for every instant.
    /// - Throws: ``ExchangeError`` for a target that is none, `CancellationError`.
    @concurrent
    public func explain(_ request: CacheRequest, at instant: Timestamp? = nil) async throws -> Explanation {
        guard let target = TargetURI(request: request.head) else { throw ExchangeError.invalidTarget(request.head) }
        let now = instant ?? clock.now()
        guard request.storage != .never, let key = key(for: request) else {
            return explainForwarding(of: request, to: target, at: now)
        }
        let exchange = Exchange(engine: self, request: request, key: key, mode: mode, now: now)
        let (found, isWhole) = await exchange.lookup()
        try Task.checkCancellation()
        var explaining = ExchangeExplaining(exchange, found)
        return await explaining.explanation(isStoreReadable: isWhole)
    }
}
