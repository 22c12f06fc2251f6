import HTTPCacheSemantics

/// The state of store and fetches before a lookup, so that what has happened since is noticed.
package struct LookupStart: Sendable {
    /// See ``InFlightFetches/endedCount(_:)``.
    let endedFetches: UInt32
    /// See ``ResponseStore/invalidationSequence``.
    let fencingNumber: InvalidationSequence
}

/// A lookup that waits for a disk, to be done on a thread that may.
package struct StoredLookup: Sendable {
    let prepared: PreparedRequest
    let lookup: @Sendable (CacheKey) throws -> [StoredResponse]

    /// Looks up on the calling thread.
    ///
    /// - Returns: `nil` if the store fails. ``CacheEngine/respond(to:)``, which is called then,
    ///   finds that out itself, and reports it.
    package func read() -> FoundResponses? { prepared.found { try? lookup($0) } }
}

/// All responses stored under a request's keys.
package struct FoundResponses: Sendable {
    /// Those under one of them.
    struct UnderKey: Sendable {
        let key: CacheKey
        let responses: [StoredResponse]
    }

    /// Under the request's own key.
    let own: UnderKey
    /// Under the common key, if that is another.
    let common: UnderKey?

    /// Nothing is stored under any of them.
    package var isNothing: Bool { own.responses.isEmpty && common?.responses.isEmpty ?? true }
}

extension PreparedRequest {
    /// The responses stored under the request's keys; `nil` if it has none, or `lookup` does not
    /// know one of them.
    func found(_ lookup: (CacheKey) -> [StoredResponse]?) -> FoundResponses? {
        guard let key, let own = lookup(key) else { return nil }
        guard let other = commonLookupKey else {
            return FoundResponses(own: FoundResponses.UnderKey(key: key, responses: own), common: nil)
        }
        guard let common = lookup(other) else { return nil }
        return FoundResponses(
            own: FoundResponses.UnderKey(key: key, responses: own),
            common: FoundResponses.UnderKey(key: other, responses: common)
        )
    }
}
