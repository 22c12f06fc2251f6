import HTTPCache
import HTTPCacheSemantics
import OfflineStore

extension CachingClient {
    /// One value of each endpoint: what is stored is looked up at once, what is missing is asked
    /// for, so many at a time, and each is stored on its own.
    ///
    /// - Parameters:
    ///   - strategy: each endpoint's own unless told otherwise.
    ///   - limit: requests under way at a time, at least 1.
    /// - Returns: the results in the endpoints' order. One that fails leaves the others as they
    ///   are.
    /// - Throws: `CancellationError` when the calling task is cancelled; nothing else.
    public func fetch<E: Endpoint>(
        all endpoints: [E],
        _ strategy: SingleValueStrategy? = nil,
        concurrently limit: Int = 8
    ) async throws -> [Result<Emission<E.Response>, HoldfastError>] {
        if strategy?.preference != .networkOnly { await readAhead(endpoints) }
        return try await endpoints.map { call($0) }.fetchEach(strategy, concurrently: limit)
    }

    /// Has the store read in one transaction what single look-ups would read one by one.
    private func readAhead(_ endpoints: [some Endpoint]) async {
        // With plugins nobody knows the keys before each request has been prepared.
        guard endpoints.count > 1, plugins.preparing.isEmpty else { return }
        var keys: [CacheKey] = []
        for endpoint in endpoints {
            guard let request = try? request(for: endpoint) else { continue }
            keys += engine.prepare(request)?.lookupKeys ?? []
        }
        // What cannot be read ahead is read when its turn comes, or counts as missing.
        try? await store.readAhead(keys)
    }
}
