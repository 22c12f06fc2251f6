public import HTTPCacheSemantics
import HTTPTypes

extension CacheEngine {
    /// Says how a request would be answered, and why, without answering it: no socket is opened,
    /// and nothing is written.
    ///
    /// The request is taken as if it came alone: another's fetch that is under way is not waited
    /// for. What would be served is opened, as it would be to be served, so that a body that is
    /// gone is told of.
    ///
    /// ```swift
    /// let explanation = try await engine.explain(CacheRequest(head: head))
    /// print(explanation.now.summary)
    /// // Would be answered from the store: fresh for another 3 m 20 s (max-age=300).
    /// ```
    ///
    /// - Parameter instant: when; `nil` for the engine's clock. What is known of the origin now
    ///   counts for every instant.
    /// - Throws: ``ExchangeError`` for a target that is none, `CancellationError`.
    @concurrent
    public func explain(_ request: CacheRequest, at instant: Timestamp? = nil) async throws -> Explanation {
        guard let prepared = prepare(request) else { throw ExchangeError.invalidTarget(request) }
        let now = instant ?? clock.now()
        guard let key = prepared.key else { return explainForwarding(of: prepared, at: now) }
        let exchange = Exchange(engine: self, prepared: prepared, key: key, now: now)
        let (found, isWhole) = await exchange.lookup()
        try Task.checkCancellation()
        var explaining = ExchangeExplaining(exchange, found)
        return await explaining.explanation(isStoreReadable: isWhole)
    }

    /// Which rules decided what for a request and the stored response that counts.
    func decisions(for prepared: PreparedRequest, _ stored: StoredResponse?) -> [RuleDecision] {
        let found =
            rules?.decisions(for: prepared.presented.ruledHead, contentType: stored?.head.fields[.contentType]) ?? []
        guard let own = prepared.presented.overrides?.decisions, !own.isEmpty else { return found }
        let settings = Set(own.map(\.setting))
        return own + found.filter { !settings.contains($0.setting) }
    }
}
