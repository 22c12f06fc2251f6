package import HTTPCache
package import HTTPCacheSemantics

/// A store that passes every operation to another one, except those that it implements itself.
package protocol ForwardingStore: ResponseStore {
    associatedtype Base: ResponseStore
    var base: Base { get }
}

extension ForwardingStore {
    package var invalidationSequence: InvalidationSequence { base.invalidationSequence }
    package var changes: StoreChangeFeed { base.changes }

    package func resident(_ key: StoreKey) -> [StoredResponse]? { base.resident(key) }

    package func lookup(_ key: StoreKey) async throws -> [StoredResponse] { try await base.lookup(key) }

    package func openBody(of response: StoredResponse, range: Range<Int64>?) async throws -> BodyStream? {
        try await base.openBody(of: response, range: range)
    }

    package func beginWrite(
        _ draft: ResponseDraft,
        fencingNumber: InvalidationSequence
    ) async throws -> (any StoredResponseWriter)? {
        try await base.beginWrite(draft, fencingNumber: fencingNumber)
    }

    package func freshen(
        _ response: StoredResponse,
        with draft: ResponseDraft,
        fencingNumber: InvalidationSequence
    ) async throws -> StoredResponse? {
        try await base.freshen(response, with: draft, fencingNumber: fencingNumber)
    }

    package func withdraw(_ response: StoredResponse) async throws -> Bool { try await base.withdraw(response) }

    package func invalidate(
        _ scope: InvalidationScope,
        _ effect: InvalidationEffect,
        at now: Timestamp
    ) async throws -> InvalidationSequence {
        try await base.invalidate(scope, effect, at: now)
    }
}
