package import HTTPCacheSemantics

extension CacheManager {
    /// Reads the responses of some keys into memory, in one read transaction, as far as there is
    /// space.
    ///
    /// A caller that will look up many keys does this first.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    package func readAhead(_ keys: [CacheKey]) async throws {
        _ = try store.responses(of: keys)
    }
}
