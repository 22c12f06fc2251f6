import HTTPCacheSemantics
import NIOCore
import Synchronization

extension BodyStream {
    /// The same body, read without blocking an event loop. The caller reads its first chunk now;
    /// each of the others is read while the one before is written.
    func readAhead() async throws -> BodyStream {
        let begun = ReadAhead(self)
        try await begun.readFirst()
        // The first iterator takes them over.
        let unused = Mutex<ReadAhead?>(begun)
        return BodyStream(length: length) {
            let chunks = unused.withLock { $0.take() } ?? ReadAhead(self)
            return { try await chunks.next() }
        }
    }
}

/// A body's chunks, one of them read ahead of the reader and no more: a slow client costs two
/// chunks.
///
/// `@unchecked`: one task reads the body. One task at a time reads ahead for it, and begins when
/// the one before has ended. The reader waits for that task's end before it touches anything.
private final class ReadAhead: @unchecked Sendable {
    private var iterator: BodyStream.AsyncIterator
    /// Bytes that have not been read yet, if the length is known: after the last byte the body is
    /// not asked for more.
    private var rest: StatedLength?
    private var first: ByteBuffer?
    private var coming: Task<ByteBuffer?, any Error>?

    init(_ body: BodyStream) {
        iterator = body.makeAsyncIterator()
        rest = body.length
    }

    /// The reader stops. One chunk may be under way, and its read ends by itself if the store
    /// ignores cancellation.
    deinit { coming?.cancel() }

    func readFirst() async throws {
        first = try await read()
    }

    func next() async throws -> ByteBuffer? {
        if let chunk = first.take() {
            coming = begin()
            return chunk
        }
        guard let task = coming.take() ?? begin() else { return nil }
        let chunk = try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
        if chunk != nil { coming = begin() }
        return chunk
    }

    /// Reads a chunk on the system's threads; `nil` if there is none.
    private func begin() -> Task<ByteBuffer?, any Error>? {
        rest == 0 ? nil : Task { try await self.read() }
    }

    private func read() async throws -> ByteBuffer? {
        guard rest != 0 else { return nil }
        let chunk = try await iterator.next()
        if let chunk { rest = rest.map { $0.subtracting(chunk.readableBytes) ?? 0 } }
        return chunk
    }
}
