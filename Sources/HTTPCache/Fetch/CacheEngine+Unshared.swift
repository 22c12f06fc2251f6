import HTTPCacheSemantics
import HTTPTypes
import Synchronization

extension CacheEngine {
    /// Returns whether requests for a key should not wait for each other.
    func isUnshared(_ key: StoreKey) -> Bool { unsharedKeys.withLock { $0.contains(key, at: clock.now()) } }

    /// Records that a response is being stored, so that requests for its key share fetches.
    func noteShared(_ key: StoreKey) { unsharedKeys.withLock { $0.forget(key) } }

    /// Records that a response could not be shared, if the next response for the same key will not
    /// be shareable either.
    ///
    /// An error does not count: a client can provoke some, and a failing origin should get fewer
    /// requests, not more.
    func noteUnshared(_ refusal: StorageRefusal, _ status: HTTPResponse.Status, _ key: StoreKey, at now: Timestamp) {
        guard status.code < 400, refusal.holds(for: key) else { return }
        unsharedKeys.withLock { $0.note(key, at: now) }
    }
}

extension StorageRefusal {
    /// Whether the reason is likely to hold for the next response to any request with this key.
    fileprivate func holds(for key: StoreKey) -> Bool {
        switch self {
        case .responseNoStore, .privateResponse, .setCookie, .varyAny, .notExplicit, .statusNotUnderstood, .rule,
            .endless,
            .bodyLength, .tags:
            true
        // The credentials are in the key, except cookies that are only forwarded.
        case .authorization: !key.isCommon
        case .method, .statusNotFinal, .statusAboutRequest, .statusProvoked, .partialContent, .requestNoStore, .bypass,
            .storedSuccess, .guarded, .unclearEnd, .store, .cutShort, .lastEvent, .fewUses:
            false
        }
    }
}
