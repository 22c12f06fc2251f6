import HTTPCache
import HTTPCacheSemantics
import HoldfastTesting
import NIOCore
import Synchronization

/// A store without bodies in memory, that reads them in chunks of 64 KiB as the store on disk does,
/// and counts the chunks.
final class ChunkedStore: ResponseStore {
    private let store: InMemoryResponseStore
    private let chunks = Atomic(0)

    init(_ store: InMemoryResponseStore) { self.store = store }

    /// The chunks that were read so far.
    var chunkCount: Int { chunks.load(ordering: .sequentiallyConsistent) }

    func openBody(of response: StoredResponse, range: Range<Int64>?) async throws -> BodyStream? {
        guard let body = try await store.openBody(of: response, range: range)?.whole else { return nil }
        return BodyStream(length: StatedLength(clamping: body.readableBytes)) {
            var rest = body
            return {
                let length = min(rest.readableBytes, 64 << 10)
                guard length > 0, let chunk = rest.readSlice(length: length) else { return nil }
                self.chunks.add(1, ordering: .sequentiallyConsistent)
                return chunk
            }
        }
    }

    var invalidationSequence: InvalidationSequence { store.invalidationSequence }
    var changes: StoreChangeFeed { store.changes }

    func resident(_ key: StoreKey) -> [StoredResponse]? { nil }

    func lookup(_ key: StoreKey) async throws -> [StoredResponse] { try await store.lookup(key) }

    func beginWrite(_ draft: ResponseDraft, fencingNumber: InvalidationSequence) async throws -> (
        any StoredResponseWriter
    )? {
        try await store.beginWrite(draft, fencingNumber: fencingNumber)
    }

    func freshen(_ response: StoredResponse, with draft: ResponseDraft, fencingNumber: InvalidationSequence)
        async throws
        -> StoredResponse?
    {
        try await store.freshen(response, with: draft, fencingNumber: fencingNumber)
    }

    func withdraw(_ response: StoredResponse) async throws -> Bool { try await store.withdraw(response) }

    func invalidate(_ scope: InvalidationScope, _ effect: InvalidationEffect, at now: Timestamp) async throws
        -> InvalidationSequence
    {
        try await store.invalidate(scope, effect, at: now)
    }
}
