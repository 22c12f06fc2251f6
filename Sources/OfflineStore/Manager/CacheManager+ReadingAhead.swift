package import HTTPCacheSemantics

extension CacheManager {
    /// Reads the responses of some keys into memory, as far as there is room, in one transaction:
    /// for many look-ups that are to follow.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    package func readAhead(_ keys: [CacheKey]) async throws {
        _ = try store.responses(of: keys)
    }
}
