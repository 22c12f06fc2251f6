import NIOCore
import Synchronization

extension BodyStream {
    /// The same body, read where no event loop is kept from working: its first chunk now, by
    /// whoever calls, and each of the others while the one before is written.
    func begunAwayFromLoops() async throws -> BodyStream {
        let begun = ReadAhead(self)
        try await begun.readFirst()
        let unused = Unused(begun)
        return BodyStream(length: length) {
            let chunks = unused.take() ?? ReadAhead(self)
            return { try await chunks.next() }
        }
    }
}

/// What the first iterator of a stream takes over.
private final class Unused: Sendable {
    private let chunks: Mutex<ReadAhead?>
    init(_ chunks: ReadAhead) { self.chunks = Mutex(chunks) }
    func take() -> ReadAhead? { chunks.withLock { $0.take() } }
}

/// A body's chunks, one of them ahead of its reader and no more: what a slow client costs is two
/// chunks.
///
/// `@unchecked`: one task reads the body, and what is read for it is read by one task at a time,
/// which begins when the one before has ended and whose end the reader waits for before it touches
/// anything.
private final class ReadAhead: @unchecked Sendable {
    private var iterator: BodyStream.AsyncIterator
    /// Bytes that have not been read yet, where the length is known: nobody is asked for what comes
    /// after the last.
    private var rest: Int64?
    private var first: ByteBuffer?
    private var coming: Task<ByteBuffer?, any Error>?

    init(_ body: BodyStream) {
        iterator = body.makeAsyncIterator()
        rest = body.length
    }

    /// Nobody reads on. What is being read is one chunk, and ends by itself where the store does
    /// not look at this.
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

    /// Reads a chunk on the system's threads; `nil` where there is none.
    private func begin() -> Task<ByteBuffer?, any Error>? {
        rest == 0 ? nil : Task { try await self.read() }
    }

    private func read() async throws -> ByteBuffer? {
        guard rest != 0 else { return nil }
        let chunk = try await iterator.next()
        if let chunk { rest = rest.map { max(0, $0 - Int64(chunk.readableBytes)) } }
        return chunk
    }
}
