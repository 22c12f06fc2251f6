import Dispatch
import HTTPCache
import HTTPCacheSemantics
import HoldfastTesting
import NIOCore
import Synchronization

/// A store that keeps the thread of whoever looks up `/slow` until it is let go of, as one with a slow disk does.
final class BlockingStore: ResponseStore {
    private let store: InMemoryResponseStore
    private let gate = DispatchSemaphore(value: 0)
    private let waiting = Atomic(0)
    private let late = Atomic(0)

    init(_ store: InMemoryResponseStore) { self.store = store }

    /// Threads that are kept now.
    var waitingCount: Int { waiting.load(ordering: .acquiring) }
    /// Threads that nobody let go of in 20 seconds.
    var lateCount: Int { late.load(ordering: .acquiring) }

    func letGo() { gate.signal() }

    private func block(for key: CacheKey) {
        guard key.components.target.path == "/slow" else { return }
        waiting.add(1, ordering: .acquiringAndReleasing)
        if gate.wait(timeout: .now() + 20) == .timedOut { late.add(1, ordering: .acquiringAndReleasing) }
        waiting.subtract(1, ordering: .acquiringAndReleasing)
    }

    var invalidationSequence: InvalidationSequence { store.invalidationSequence }
    var changes: StoreChangeFeed { store.changes }

    func resident(_ key: CacheKey) -> [StoredResponse]? {
        key.components.target.path == "/slow" ? nil : store.resident(key)
    }

    func lookup(_ key: CacheKey) async throws -> [StoredResponse] {
        block(for: key)
        return try await store.lookup(key)
    }

    func openBody(of response: StoredResponse, range: Range<Int64>?) async throws -> BodyStream? {
        block(for: response.key)
        guard let body = try await store.openBody(of: response, range: range) else { return nil }
        return BodyStream(length: body.length) {
            var chunks = body.makeAsyncIterator()
            return {
                self.block(for: response.key)
                return try await chunks.next()
            }
        }
    }

    func beginWrite(_ draft: ResponseDraft, fence: InvalidationSequence) async throws -> (any ResponseWriter)? {
        block(for: draft.key)
        guard let writer = try await store.beginWrite(draft, fence: fence) else { return nil }
        return Writer(store: self, key: draft.key, writer: writer)
    }

    func freshen(_ response: StoredResponse, with draft: ResponseDraft, fence: InvalidationSequence) async throws
        -> StoredResponse?
    {
        try await store.freshen(response, with: draft, fence: fence)
    }

    func invalidate(_ scope: InvalidationScope, keepingForOffline: Bool, at now: Timestamp) async throws
        -> InvalidationSequence
    {
        try await store.invalidate(scope, keepingForOffline: keepingForOffline, at: now)
    }

    private struct Writer: ResponseWriter {
        let store: BlockingStore
        let key: CacheKey
        let writer: any ResponseWriter

        func append(_ chunk: ByteBuffer) async throws {
            store.block(for: key)
            try await writer.append(chunk)
        }

        var readableLength: Int64 { get async { await writer.readableLength } }
        func readBack(from offset: Int64) async throws -> ByteBuffer { try await writer.readBack(from: offset) }

        func finish() async throws -> StoredResponse? {
            store.block(for: key)
            return try await writer.finish()
        }

        func abandon() async { await writer.abandon() }
    }
}
