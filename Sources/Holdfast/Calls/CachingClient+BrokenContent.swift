import HTTPCache

extension CachingClient {
    /// Retries a call's request after the content of its response broke off, if the call's
    /// ``RetryPlan`` allows it. Decoding needs the complete content, so the caller has received
    /// nothing yet.
    ///
    /// - Returns: `nil` if the failure is final.
    func retry<Value: Sendable>(
        _ call: Call<Value>,
        _ prepared: PreparedCall,
        _ preference: CacheRequest.Preference,
        afterBreakOf response: CacheResponse,
        _ error: any Error
    ) async throws -> Delivery<Value>? {
        // Stored content does not break off: if it ends early, the entry is damaged.
        guard response.source == .network, response.stored == nil, let context = prepared.context,
            let retries = context.retries,
            case .retry(let delay) = context.retry.decision(
                after: error,
                isIdempotent: context.isIdempotent,
                retries: retries.value,
                jitter: Double.random(in: 0...1)
            )
        else { return nil }
        retries.increment()
        logger.debug(
            "Resending a request, because its response broke off",
            metadata: ["http.method": "\(prepared.request.head.method)", "retry.number": "\(retries.value)"]
        )
        try await sleeper.sleep(for: delay)
        return try await deliver(call, prepared, preference)
    }
}
