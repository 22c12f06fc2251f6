import HTTPCacheSemantics

/// What memory says about a request.
package enum ResidentSearch: Sendable {
    /// It answers.
    case hit(ResidentHit)
    /// It does not know; the disk may have what answers.
    case unknown(StoredLookup)
    /// What is stored does not answer without more ado.
    case none
}

/// A lookup that waits for a disk, to be done on a thread that may.
package struct StoredLookup: Sendable {
    let keys: [CacheKey]
    let store: any BlockingLookup

    /// What is stored under a request's keys, all of it.
    package struct Found: Sendable {
        let responses: [(key: CacheKey, responses: [StoredResponse])]
    }

    /// Looks up on the calling thread.
    ///
    /// - Returns: `nil` where the store fails. ``CacheEngine/respond(to:)``, which is asked then, finds that out for itself, and tells.
    package func read() -> Found? {
        try? Found(responses: keys.map { ($0, try store.lookupInPlace($0)) })
    }
}
