import HTTPCache
import HTTPCacheSemantics
import OfflineStore

extension CachingClient {
    /// Makes out of date what a success of an endpoint concerns. Durable when it returns.
    ///
    /// A store that fails does not make the success a failure; the fact is logged. A caller that
    /// goes away does not stop it.
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
                    try await engine.invalidate(try request(for: endpoint), keepingForOffline: true)
                case .tag(let tag): try await engine.invalidate(tagged: tag, keepingForOffline: true)
                case .prefix(let prefix): try await store.invalidateResponses(withPrefix: try TargetPrefix(prefix))
                }
            } catch {
                logger.warning("Store failed", metadata: ["store.operation": "invalidate", "error": "\(error)"])
            }
        }
    }
}
