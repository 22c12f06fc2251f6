import Holdfast

private struct Feed: Endpoint { let path = "/x" }

// A request is not a key; client.key(of: endpoint) returns its key. See KeyOfEndpoint.swift.
private func response(_ client: CachingClient, _ store: CacheManager) async throws {
    _ = try await store.response(for: client.request(for: Feed()))  // says: client.key(of: endpoint)
}
