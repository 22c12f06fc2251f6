import HTTPCacheSemantics
import NIOCore
import Synchronization

extension BodyStream {
    /// Returns the same body, read without blocking an event loop. Each chunk is read only when the
    /// previous chunk has left the process.
    ///
    /// - Parameters:
    ///   - permit: the response's permit, for its first chunk.
    ///   - readsFirst: whether to read the first chunk before this returns.
    func paced(in permit: ContentPermits.Permit, readsFirst: Bool = true) async throws -> BodyStream {
        let turn = ContentTurn(permit)
        let begun = PacedBody(self, turn)
        if readsFirst { try await begun.readFirst() }
        // The first iterator takes this body.
        let unused = Mutex<PacedBody?>(begun)
        let another = turn.another
        return BodyStream(length: length) {
            let chunks = unused.withLock { $0.take() } ?? PacedBody(self, another)
            return { try await chunks.next() }
        }
    }
}

/// Reads a body chunk by chunk, with only one chunk in memory, so that a slow client costs only one
/// chunk.
///
/// `@unchecked` is safe because only one task reads the body. For each chunk, that task starts
/// another task and waits for its end before it accesses anything.
private final class PacedBody: @unchecked Sendable {
    private var iterator: BodyStream.AsyncIterator
    /// The number of bytes that are not read yet, if the length is known. After the last byte, the
    /// body is not read again.
    private var rest: StatedLength?
    private var first: ByteBuffer?
    private var turn: ContentTurn

    init(_ body: BodyStream, _ turn: ContentTurn) {
        iterator = body.makeAsyncIterator()
        rest = body.length
        self.turn = turn
    }

    func readFirst() async throws {
        first = try await read()
    }

    func next() async throws -> ByteBuffer? {
        if let chunk = first.take() { return chunk }
        guard rest != 0 else {
            turn.end()
            return nil
        }
        try await turn.next()
        // Read on the system's threads.
        let task = Task { try await self.read() }
        let chunk = try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
        if chunk == nil { turn.end() }
        return chunk
    }

    /// Reads a chunk; `nil` if there is none.
    private func read() async throws -> ByteBuffer? {
        guard rest != 0 else { return nil }
        let chunk = try await iterator.next()
        if let chunk { rest = rest.map { $0.subtracting(chunk.readableBytes) ?? 0 } }
        return chunk
    }
}
