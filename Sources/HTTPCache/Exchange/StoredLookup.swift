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
    let prepared: PreparedRequest
    let store: any BlockingLookup
    /// Before it.
    package let start: LookupStart

    /// Looks up on the calling thread.
    ///
    /// - Returns: `nil` where the store fails. ``CacheEngine/respond(to:)``, which is asked then,
    ///   finds that out for itself, and tells.
    package func read() -> FoundResponses? { prepared.found { try? store.lookupInPlace($0) } }
}

/// What is stored under a request's keys, all of it.
package struct FoundResponses: Sendable {
    /// What is stored under one of them.
    struct UnderKey: Sendable {
        let key: CacheKey
        let responses: [StoredResponse]
    }

    /// Under the request's own key.
    let own: UnderKey
    /// Under everybody's, where that is another.
    let shared: UnderKey?

    /// Nothing is stored under any of them.
    package var isNothing: Bool { own.responses.isEmpty && shared?.responses.isEmpty ?? true }
}

extension PreparedRequest {
    /// What is stored under the request's keys; `nil` where it has none, or one of them tells
    /// nothing.
    func found(_ look: (CacheKey) -> [StoredResponse]?) -> FoundResponses? {
        guard let key, let own = look(key) else { return nil }
        guard let other = sharedLookupKey else {
            return FoundResponses(own: FoundResponses.UnderKey(key: key, responses: own), shared: nil)
        }
        guard let shared = look(other) else { return nil }
        return FoundResponses(
            own: FoundResponses.UnderKey(key: key, responses: own),
            shared: FoundResponses.UnderKey(key: other, responses: shared)
        )
    }
}
