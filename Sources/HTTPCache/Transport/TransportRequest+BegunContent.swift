import NIOCore
import Synchronization

extension TransportRequest {
    /// Bytes of content that are read before the request takes a place at the origin.
    private static let begunLimit: Int64 = 64 << 10

    /// Waits until the client has sent enough of the content: all of it if it is short, otherwise
    /// its beginning. Returns the request with that content.
    ///
    /// A client that announces content and sends none would hold a place for nothing.
    ///
    /// - Parameter client: content without a client is a program's own, and is left as it is.
    /// - Throws: any error of reading the content.
    func withContentBegun(for client: RequestClient) async throws -> TransportRequest {
        guard client != .none, let body, body.whole == nil else { return self }
        let begun = BegunContent(body)
        // Content of unknown length may be one half of a conversation: its client may wait for a
        // response to the bytes that it has sent.
        try await begun.read(body.length.map { min($0, Self.begunLimit) } ?? 1)
        var request = self
        request.body = begun.body(length: body.length)
        return request
    }
}

/// Content whose beginning is in memory.
///
/// `@unchecked`: one task reads the beginning, and returns before another task gets the stream.
/// Only the stream's first iterator reads on.
private final class BegunContent: @unchecked Sendable {
    private var iterator: BodyStream.AsyncIterator
    private var beginning = ByteBuffer()
    private let isTaken = Atomic(false)

    init(_ body: BodyStream) { iterator = body.makeAsyncIterator() }

    func read(_ count: Int64) async throws {
        while beginning.readableBytes < count, let chunk = try await iterator.next() {
            beginning.writeImmutableBuffer(chunk)
        }
    }

    func body(length: Int64?) -> BodyStream {
        if let length, beginning.readableBytes == length { return BodyStream(beginning) }
        return BodyStream(length: length) {
            guard !self.isTaken.exchange(true, ordering: .relaxed) else {
                return { throw BodyStreamError.alreadyRead }
            }
            return { try await self.next() }
        }
    }

    private func next() async throws -> ByteBuffer? {
        guard beginning.readableBytes > 0 else { return try await iterator.next() }
        defer { beginning = ByteBuffer() }
        return beginning
    }
}
