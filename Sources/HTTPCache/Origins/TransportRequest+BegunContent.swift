import NIOCore
import Synchronization

extension TransportRequest {
    /// Bytes of content that are read before its request takes a place at the origin.
    private static let begunLimit: Int64 = 64 << 10

    /// The same request when its client has sent enough of the content: all of it where it is
    /// short, else its beginning.
    ///
    /// A client that announces content and sends none would hold a place for nothing.
    ///
    /// - Parameter client: content of nobody in particular is a program's own, and is left as it
    ///   is.
    /// - Throws: what reading the content throws.
    func withContentBegun(for client: RequestClient) async throws -> TransportRequest {
        guard client != .none, let body, body.whole == nil else { return self }
        let begun = BegunContent(body)
        // Content of unknown length may be one half of a conversation: its client may wait for the
        // response to what it has sent.
        try await begun.read(body.length.map { min($0, Self.begunLimit) } ?? 1)
        var request = self
        request.body = begun.body(length: body.length)
        return request
    }
}

/// Content whose beginning is in memory.
///
/// `@unchecked`: one task reads the beginning, and has returned before another one is given the
/// stream, whose first iterator alone reads on.
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
