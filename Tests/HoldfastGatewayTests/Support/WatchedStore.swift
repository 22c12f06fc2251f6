import HTTPCache
import HTTPCacheSemantics
import HoldfastTesting
import NIOCore
import NIOPosix
import Synchronization
import TestSupport

/// A store without memory that records the threads on which its operations run.
final class WatchedStore: ForwardingStore {
    let base: InMemoryResponseStore
    private let notes = Mutex<[(operation: String, isOnLoop: Bool)]>([])

    init(_ store: InMemoryResponseStore) { base = store }

    /// The calls in their order.
    var operations: [String] { notes.withLock { $0.map(\.operation) } }
    /// The calls that blocked an event loop for as long as a disk would take.
    var operationsOnLoops: [String] { notes.withLock { $0.filter(\.isOnLoop).map(\.operation) } }

    private func note(_ operation: String) {
        let isOnLoop = MultiThreadedEventLoopGroup.currentEventLoop != nil
        notes.withLock { $0.append((operation, isOnLoop)) }
    }

    func resident(_ key: StoreKey) -> [StoredResponse]? { nil }

    func lookup(_ key: StoreKey) async throws -> [StoredResponse] {
        note("lookup")
        return try await base.lookup(key)
    }

    func openBody(of response: StoredResponse, range: Range<Int64>?) async throws -> BodyStream? {
        note("openBody")
        guard let body = try await base.openBody(of: response, range: range) else { return nil }
        return BodyStream(length: body.length) {
            var chunks = body.makeAsyncIterator()
            return {
                self.note("chunk")
                return try await chunks.next()
            }
        }
    }

    func beginWrite(_ draft: ResponseDraft, fencingNumber: InvalidationSequence) async throws -> (
        any StoredResponseWriter
    )? {
        note("beginWrite")
        guard let writer = try await base.beginWrite(draft, fencingNumber: fencingNumber) else { return nil }
        return Writer(store: self, writer: writer)
    }

    func freshen(_ response: StoredResponse, with draft: ResponseDraft, fencingNumber: InvalidationSequence)
        async throws
        -> StoredResponse?
    {
        note("freshen")
        return try await base.freshen(response, with: draft, fencingNumber: fencingNumber)
    }

    private struct Writer: StoredResponseWriter {
        let store: WatchedStore
        let writer: any StoredResponseWriter

        func append(_ chunk: ByteBuffer) async throws {
            store.note("append")
            try await writer.append(chunk)
        }

        var readableLength: Int64 { get async { await writer.readableLength } }
        func readBack(from offset: Int64) async throws -> ByteBuffer { try await writer.readBack(from: offset) }

        func finish() async throws -> StoredResponse? {
            store.note("finish")
            return try await writer.finish()
        }

        func abandon() async { await writer.abandon() }
    }
}
