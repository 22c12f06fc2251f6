import HTTPCacheSemantics

/// The state of the store and the fetches before a lookup, to detect later changes.
package struct LookupStart: Sendable {
    /// See ``InFlightFetches/endedCount(_:)``.
    let endedFetches: UInt32
    /// See ``ResponseStore/invalidationSequence``.
    let fencingNumber: InvalidationSequence
}

/// A lookup on disk.
package struct StoredLookup: Sendable {
    let prepared: PreparedRequest
    let lookup: @Sendable (StoreKey) throws -> [StoredResponse]
    var immediateLookup: (@Sendable (StoreKey) -> [StoredResponse]?)?

    /// Performs the lookup on the calling thread, if that needs no waiting.
    ///
    /// - Returns: `nil` if it would have to wait, or if the store fails. Call ``read()`` then.
    package func readAtOnce() -> FoundResponses? { immediateLookup.flatMap { prepared.found($0) } }

    /// Performs the lookup on the calling thread, which may wait for a disk.
    ///
    /// - Returns: `nil` if the store fails. The caller then calls ``CacheEngine/respond(to:)``,
    ///   which detects and reports the failure itself.
    package func read() -> FoundResponses? { prepared.found { try? lookup($0) } }
}

/// All responses stored under a request's keys.
package struct FoundResponses: Sendable {
    /// The responses under one of the keys.
    struct UnderKey: Sendable {
        let key: StoreKey
        let responses: [StoredResponse]
    }

    /// The responses under the request's own key.
    let own: UnderKey
    /// The responses under the common key; `nil` if the request has no separate common key.
    let common: UnderKey?

    /// Whether nothing is stored under any of the keys.
    package var isNothing: Bool { own.responses.isEmpty && common?.responses.isEmpty ?? true }
}

extension PreparedRequest {
    /// Returns the responses stored under the request's keys; `nil` if the request has no key, or
    /// if `lookup` returns `nil` for one of its keys.
    func found(_ lookup: (StoreKey) -> [StoredResponse]?) -> FoundResponses? {
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
