// later: key(of:)
import Holdfast

private struct Feed: Endpoint { let path = "/x" }

private func response(_ client: CachingClient, _ store: CacheManager) async throws {
    _ = try await store.response(for: client.key(of: Feed()))
}
