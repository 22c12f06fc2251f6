import HTTPCacheSemantics

/// What memory says about a request.
package enum ResidentSearch: Sendable {
    /// It answers.
    case hit(ResidentHit)
    /// It does not know; the disk may have what answers.
    case unknown(StoredLookup)
    /// It knows that nothing is stored.
    case nothing(LookupStart)
    /// What is stored does not answer without more ado.
    case none
}

/// How things stood before a lookup, so that what has happened since is noticed.
package struct LookupStart: Sendable {
    /// See ``FillRegistry/endedCount(_:)``.
    let endedFills: UInt32
    /// See ``ResponseStore/invalidationSequence``.
    let fence: InvalidationSequence
}

/// A lookup that waits for a disk, to be done on a thread that may.
package struct StoredLookup: Sendable {
    let keys: [CacheKey]
    let store: any BlockingLookup
    /// Before it.
    package let start: LookupStart

    /// What is stored under a request's keys, all of it.
    package struct Found: Sendable {
        let responses: [(key: CacheKey, responses: [StoredResponse])]

        /// Nothing is stored under any of them.
        package var isNothing: Bool { responses.allSatisfy { $0.responses.isEmpty } }
    }

    /// Looks up on the calling thread.
    ///
    /// - Returns: `nil` where the store fails.
    package func read() -> Found? { store.lookupInPlace(all: keys).map(Found.init) }
}
