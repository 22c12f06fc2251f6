package import HTTPCacheSemantics

/// A store that can be read on the calling thread, which waits for the disk. For callers with a
/// thread to spare and many lookups.
package protocol BlockingLookup: ResponseStore {
    /// The same as ``ResponseStore/lookup(_:)``, on the calling thread.
    func lookupInPlace(_ key: CacheKey) throws -> [StoredResponse]
}
