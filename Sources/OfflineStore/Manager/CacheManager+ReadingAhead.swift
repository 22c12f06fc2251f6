package import HTTPCacheSemantics

extension CacheManager {
    /// Reads the responses of some keys into memory, in one read transaction, up to the available
    /// space.
    ///
    /// Call this before looking up many keys.
    ///
    /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
    @concurrent
    package func readAhead(_ keys: [StoreKey]) async throws {
        _ = try store.responses(of: keys)
    }
}
