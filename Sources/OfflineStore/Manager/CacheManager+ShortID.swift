package import HTTPCacheSemantics

extension CacheManager {
    /// The short name (``StoreEntry/shortID``) that entries with a key have, or would have; `nil`
    /// once the store is closed.
    package func shortID(of key: CacheKey) -> String? {
        (try? core.database()).map { StoreEntry.shortID($0.state.hash(key.bytes, .responseKey)) }
    }
}
