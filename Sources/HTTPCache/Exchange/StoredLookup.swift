import HTTPCacheSemantics

/// The state of the store and the fetches before a lookup, to detect later changes.
package struct LookupStart: Sendable {
    /// See ``InFlightFetches/endedCount(_:)``.
    let endedFetches: UInt32
    /// See ``ResponseStore/invalidationSequence``.
    let fencingNumber: InvalidationSequence
}

/// A lookup that waits for a disk, to run on a thread that may wait.
package struct StoredLookup: Sendable {
    let prepared: PreparedRequest
    let lookup: @Sendable (CacheKey) throws -> [StoredResponse]

    /// Looks up on the calling thread.
    ///
    /// - Returns: `nil` if the store fails. ``CacheEngine/respond(to:)``, which is called then,
    ///   detects the failure itself and reports it.
    package func read() -> FoundResponses? { prepared.found { try? lookup($0) } }
}

/// All responses stored under a request's keys.
package struct FoundResponses: Sendable {
    /// The responses under one of the keys.
    struct UnderKey: Sendable {
        let key: CacheKey
        let responses: [StoredResponse]
    }

    /// Under the request's own key.
    let own: UnderKey
    /// Under the common key, if it is a different key.
    let common: UnderKey?

    /// Whether nothing is stored under any of them.
    package var isNothing: Bool { own.responses.isEmpty && common?.responses.isEmpty ?? true }
}

extension PreparedRequest {
    /// The responses stored under the request's keys; `nil` if it has no key, or if `lookup` cannot
    /// answer for one of them.
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
