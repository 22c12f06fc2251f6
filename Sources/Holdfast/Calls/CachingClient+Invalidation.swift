import HTTPCache
import HTTPCacheSemantics
import OfflineStore

extension CachingClient {
    /// Invalidates everything that the endpoint invalidates on success. The invalidations are
    /// durable when this returns, unless the store fails.
    ///
    /// If the store fails, the call still succeeds, and the failure is logged. Canceling the caller
    /// does not stop the invalidations.
    func invalidate(after call: Call<some Sendable>) async {
        let concerned = call.endpoint.invalidates
        guard !concerned.isEmpty else { return }
        await Task { await invalidate(concerned) }.value
    }

    private func invalidate(_ concerned: [StoreInvalidation]) async {
        for invalidation in concerned {
            do {
                switch invalidation {
                case .endpoint(let endpoint):
                    let first = try request(for: endpoint)
                    for request in await requestsWithStoredRedirects(from: first) {
                        try await engine.invalidate(request, keepingForOffline: true)
                    }
                case .tag(let tag): try await engine.invalidate(tagged: tag, keepingForOffline: true)
                case .prefix(let prefix): try await store.invalidateResponses(withPrefix: try TargetPrefix(prefix))
                }
            } catch {
                logger.warning("Store failed", metadata: ["store.operation": "invalidate", "error": "\(error)"])
            }
        }
    }
}
