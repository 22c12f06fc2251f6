import HTTPCache
import HTTPCacheSemantics
import OfflineStore

extension CachingClient {
    /// Fetches one value of each endpoint. Stored values are looked up together; missing ones are
    /// fetched, a limited number at a time, and each is stored on its own.
    ///
    /// - Parameters:
    ///   - strategy: each endpoint's own by default.
    ///   - limit: the number of requests under way at a time, at least 1.
    /// - Returns: the results in the endpoints' order. A failure does not affect the other results.
    /// - Throws: `CancellationError` if the calling task is cancelled; nothing else.
    public func fetch<E: Endpoint>(
        all endpoints: [E],
        _ strategy: SingleValueStrategy? = nil,
        concurrently limit: Int = 8
    ) async throws -> [Result<Emission<E.Response>, HoldfastError>] {
        if strategy?.preference != .networkOnly { await readAhead(endpoints) }
        return try await endpoints.map { call($0) }.fetchEach(strategy, concurrently: limit)
    }

    /// Makes the store read in one transaction the entries that single look-ups would read one by
    /// one.
    private func readAhead(_ endpoints: [some Endpoint]) async {
        // With plugins, the keys are unknown before each request has been prepared.
        guard endpoints.count > 1, plugins.preparing.isEmpty else { return }
        var keys: [CacheKey] = []
        for endpoint in endpoints {
            guard let request = try? request(for: endpoint) else { continue }
            keys += engine.prepare(request)?.lookupKeys ?? []
        }
        // An entry that cannot be read ahead is read in its turn, or is treated as missing.
        try? await store.readAhead(keys)
    }
}
