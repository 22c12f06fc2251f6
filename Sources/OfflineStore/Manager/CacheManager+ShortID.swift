package import HTTPCacheSemantics
import StoreFiles

extension CacheManager {
    /// Returns the short ID (``StoreEntry/shortID``) of a key's entries; `nil` after the store is
    /// closed.
    package func shortID(of key: StoreKey) -> String? { core.shortID(of: key) }
}

extension StoreCore {
    /// Returns the short ID of a key's entries: see ``CacheManager/shortID(of:)``.
    func shortID(of key: StoreKey) -> String? {
        (try? database()).map { StoreEntry.shortID($0.state.hash(key.bytes, .responseKey)) }
    }
}
