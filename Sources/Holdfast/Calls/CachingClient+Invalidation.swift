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
        let endpoint: any Endpoint = call.endpoint
        let concerned = endpoint.invalidates
        guard !concerned.isEmpty else { return }
        await Task { await invalidate(concerned, of: endpoint) }.value
    }

    private func invalidate(_ concerned: [StoreInvalidation], of owner: any Endpoint) async {
        for invalidation in concerned {
            do {
                switch invalidation {
                case .endpoint(let endpoint):
                    let first = try request(for: endpoint)
                    for request in await requestsWithStoredRedirects(from: first) {
                        try await engine.invalidate(request, keepingForOffline: true)
                    }
                case .tag(let tag): try await engine.invalidate(tagged: tag, keepingForOffline: true)
                case .prefix(let text):
                    guard let prefix = validPrefix(text, of: owner) else { continue }
                    try await store.invalidateResponses(withPrefix: prefix)
                }
            } catch {
                logger.warning("Store failed", metadata: ["store.operation": "invalidate", "error": "\(error)"])
            }
        }
    }

    /// Parses a prefix of an endpoint. Logs a prefix that is invalid, without its text, because a
    /// query may name a person.
    private func validPrefix(_ text: String, of owner: any Endpoint) -> TargetPrefix? {
        do {
            return try TargetPrefix(text)
        } catch {
            logger.warning(
                "Prefix in 'invalidates' of an endpoint is invalid",
                metadata: [
                    "endpoint": "\(UnreadableEndpoints.type(of: owner))",
                    "reason": "\((error as? TargetURIError)?.code.description ?? "unknown")",
                    "advice": "Use an absolute URI such as 'https://a.example/lists/'.",
                ]
            )
            return nil
        }
    }
}
