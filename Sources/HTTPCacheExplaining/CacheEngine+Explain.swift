package import HTTPCache
package import HTTPCacheSemantics
import HTTPTypes

extension CacheEngine {
    /// Explains how a request would be answered, and why. No socket is opened, and nothing is
    /// written.
    ///
    /// The request is treated as if it were the only request: it does not wait for another caller's
    /// fetch. The stored response that would be served is opened, so that a missing body is
    /// detected.
    ///
    /// ```swift
    /// let explanation = try await engine.explain(CacheRequest(head: head))
    /// print(explanation.now.summary)
    /// // Would be served from the store: fresh for another 3 m 20 s (max-age=300).
    /// ```
    ///
    /// - Parameter instant: the time to explain for; `nil` uses the engine's clock. Responses that
    ///   arrived later are left out. The current state of the origin applies to every instant.
    /// - Throws: ``ExchangeError`` for an invalid target, `CancellationError`.
    @concurrent
    package func explain(_ request: CacheRequest, at instant: Timestamp? = nil) async throws -> Explanation {
        guard let prepared = prepare(request) else { throw ExchangeError.invalidTarget(request) }
        let now = instant ?? clock.now()
        let (found, isWhole) = await storedResponses(for: prepared)
        try Task.checkCancellation()
        // Without a given instant, such a response shows that a clock was wrong.
        let later = found.filter { instant != nil && $0.head.responseTime.isAhead(of: now) }
        let known = found.filter { stored in !later.contains { $0.id == stored.id } }
        var builder = ExplanationBuilder(self, prepared, known, at: now)
        builder.timeToArrival = later.map { $0.head.responseTime.milliseconds(since: now) }.min()
        return await builder.explanation(isStoreReadable: isWhole)
    }

    /// Returns the rules that decided each setting, for a request and the stored response that it
    /// selects.
    func decisions(for prepared: PreparedRequest, _ stored: StoredResponse?) -> [RuleDecision] {
        let found =
            rules?.decisions(for: prepared.presented.ruledHead, contentType: stored?.head.fields[.contentType]) ?? []
        guard let own = prepared.presented.overrides?.decisions, !own.isEmpty else { return found }
        let settings = Set(own.map(\.setting))
        return own + found.filter { !settings.contains($0.setting) }
    }
}
