package import HTTPCacheSemantics

/// A store that can be asked on the calling thread, which waits for its disk: for whoever has a thread to spare, and many questions for it.
package protocol BlockingLookup: ResponseStore {
    /// What ``ResponseStore/lookup(_:)`` answers.
    func lookupInPlace(_ key: CacheKey) throws -> [StoredResponse]
}

extension BlockingLookup {
    /// All that is stored under some keys; `nil` where the store fails. ``CacheEngine/respond(to:)``, which is asked then, finds that out for itself, and tells.
    func lookupInPlace(all keys: [CacheKey]) -> [(key: CacheKey, responses: [StoredResponse])]? {
        try? keys.map { ($0, try lookupInPlace($0)) }
    }
}
