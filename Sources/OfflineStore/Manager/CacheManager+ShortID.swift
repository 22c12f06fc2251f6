package import HTTPCacheSemantics

extension CacheManager {
    /// Returns the short name (``StoreEntry/shortID``) of entries with a key; `nil` after the store
    /// is closed.
    package func shortID(of key: CacheKey) -> String? {
        (try? core.database()).map { StoreEntry.shortID($0.state.hash(key.bytes, .responseKey)) }
    }
}
