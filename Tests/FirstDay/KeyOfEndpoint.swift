import Holdfast

private struct Feed: Endpoint { let path = "/x" }

private func response(_ client: CachingClient) async throws {
    guard let key = try await client.key(of: Feed()) else { return }
    _ = try await client.store.response(for: key)
}
