package import HTTPCacheSemantics

/// A store that can be asked on the calling thread, which waits for its disk: for whoever has a
/// thread to spare, and many questions for it.
package protocol BlockingLookup: ResponseStore {
    /// What ``ResponseStore/lookup(_:)`` answers.
    func lookupInPlace(_ key: CacheKey) throws -> [StoredResponse]
}
