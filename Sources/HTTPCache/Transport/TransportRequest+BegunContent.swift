import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import Synchronization

extension TransportRequest {
    /// The maximum number of content bytes to read before the request gets an origin permit.
    private static let begunLimit: Int64 = 64 << 10

    /// Waits until the client has sent enough of the content: the beginning, or all of it if it is
    /// short. Returns the request with that content.
    ///
    /// This prevents a client that announces content but does not send it from holding a permit.
    ///
    /// - Parameter client: the client that sends the content. Content without a client comes from
    ///   the program itself and is not changed.
    /// - Throws: an error from reading the content.
    func withContentBegun(for client: RequestClient) async throws -> TransportRequest {
        guard client != .none, let body, body.whole == nil else { return self }
        var request = self
        // For content of unknown length, wait only for the first byte: in a two-way exchange, the
        // client may wait for a response to the bytes that it has sent.
        request.body = try await body.begun(body.length?.capped(at: Self.begunLimit) ?? 1)
        return request
    }
}

extension BodyStream {
    /// Returns the body with its beginning in memory: at least the given number of bytes, or all of
    /// it. If all of it is in memory, the body is ``whole``, unless it ends with trailer fields.
    package func begun(_ count: Int64) async throws -> BodyStream {
        let begun = BegunContent(self)
        let isWhole = try await begun.read(count, of: length)
        if isWhole, begun.trailers == nil { return BodyStream(begun.beginning) }
        return BodyStream(length: length, trailed: begun)
    }
}

/// Content whose beginning is in memory.
///
/// `@unchecked` is safe because one task reads the beginning, and returns before another task gets
/// the stream. Only the stream's first iterator continues to read.
private final class BegunContent: TrailedContent, @unchecked Sendable {
    private let content: BodyStream
    private var iterator: BodyStream.AsyncIterator
    private var isOver = false
    private(set) var beginning = ByteBuffer()
    private let isTaken = Atomic(false)

    init(_ body: BodyStream) {
        content = body
        iterator = body.makeAsyncIterator()
    }

    var trailers: HTTPFields? { content.trailers }

    /// - Returns: whether the content is complete.
    func read(_ count: Int64, of length: StatedLength?) async throws -> Bool {
        while beginning.readableBytes < count {
            guard let chunk = try await iterator.next() else {
                isOver = true
                return true
            }
            beginning.writeImmutableBuffer(chunk)
        }
        return length == StatedLength(clamping: beginning.readableBytes)
    }

    func startReading() -> () async throws -> ByteBuffer? {
        guard !isTaken.exchange(true, ordering: .relaxed) else { return { throw BodyStreamError.alreadyRead } }
        return { try await self.next() }
    }

    private func next() async throws -> ByteBuffer? {
        guard beginning.readableBytes > 0 else { return isOver ? nil : try await iterator.next() }
        defer { beginning = ByteBuffer() }
        return beginning
    }
}
