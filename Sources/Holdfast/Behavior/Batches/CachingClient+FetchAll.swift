import HTTPCache
import HTTPCacheSemantics
import HoldfastContent
import OfflineStore

extension CachingClient {
    /// Fetches one value from each endpoint. Stored values are looked up together, unless the
    /// client has plugins that prepare requests. Missing values are fetched with a limited number
    /// of concurrent requests, and each is stored separately.
    ///
    /// - Parameters:
    ///   - strategy: the strategy for all endpoints; by default, each endpoint's own.
    ///   - limit: the maximum number of concurrent requests; less than 1 is treated as 1.
    /// - Returns: the results in the endpoints' order. A failure does not affect the other results.
    /// - Throws: `CancellationError` if the calling task is canceled; nothing else.
    public func fetch<E: Endpoint>(
        all endpoints: [E],
        _ strategy: SingleValueStrategy? = nil,
        concurrently limit: Int = 8
    ) async throws -> [Result<Emission<E.Response>, HoldfastError>] {
        if strategy?.preference != .networkOnly { await readAhead(endpoints) }
        return try await endpoints.map { call($0) }.fetchEach(strategy, concurrently: limit)
    }

    /// Makes the store read, in one transaction, the entries that separate lookups would read one
    /// at a time.
    private func readAhead(_ endpoints: [some Endpoint]) async {
        // With plugins, a key is unknown until its request has been prepared.
        guard endpoints.count > 1, plugins.preparing.isEmpty else { return }
        var keys: [StoreKey] = []
        for endpoint in endpoints {
            guard let request = try? request(for: endpoint) else { continue }
            keys += engine.prepare(request)?.lookupKeys ?? []
        }
        // An entry that cannot be read ahead is read by its own lookup, or is treated as missing.
        try? await store.readAhead(keys)
    }
}
