import NIOCore

/// The fields of the last request on a connection. Most clients send the same fields again, so
/// their decoded form can be reused.
///
/// A class, because a decoder without a known request should need little memory.
final class KnownFields: Sendable {
    /// The maximum length of the fields to keep, in bytes. It is small, because each connection
    /// keeps some.
    private static let limit = 1 << 10

    /// All field lines, including the empty line at the end.
    private let bytes: ByteBuffer
    private let made: RequestHead

    /// - Parameters:
    ///   - bytes: bytes that begin with the fields.
    ///   - length: the length of the fields in bytes.
    ///   - line: the request line before the fields. The result is `nil` if the fields could have
    ///     another meaning with another target, or if content follows.
    init?(_ bytes: ByteBuffer, length: Int, _ line: RequestLine, _ head: RequestHead) {
        guard length <= Self.limit, case .origin = line.target, head.framing == .none else { return nil }
        // A copy of only these bytes, so that no larger buffer stays in memory.
        self.bytes = bytes.withUnsafeReadableBytes { ByteBuffer(bytes: $0.part(0..<length)) }
        made = head
    }

    /// Returns the head of a request with this line if the same fields follow, and consumes these
    /// fields.
    func head(_ line: RequestLine, in pending: inout ByteBuffer) -> RequestHead? {
        guard case .origin(let target) = line.target, line.receivedProtocol == made.request.receivedProtocol,
            pending.getSlice(at: pending.readerIndex, length: bytes.readableBytes) == bytes
        else { return nil }
        pending.moveReaderIndex(forwardBy: bytes.readableBytes)
        var head = made
        head.request.method = line.method
        head.request.target = target
        return head
    }
}
