import Holdfast

private struct Feed: Endpoint { let path = "/x" }

private func untyped(_ store: CacheManager) async throws {
    _ = try await store.object(forKey: "x")  // says: generic parameter 'Value' could not be inferred
}
