import NIOCore

/// The fields of a request, for the next one on the same connection: most clients send the same
/// again, and what was made of them can be taken as it is.
struct KnownFields {
    /// Bytes up to which they are kept: each connection keeps some.
    private static let limit = 1 << 10

    /// All lines, with the empty one that ends them.
    private let bytes: ByteBuffer
    private let made: RequestHead

    /// - Parameters:
    ///   - bytes: that begin with the fields.
    ///   - length: bytes in them.
    ///   - line: what they came with; `nil` is answered where they mean something else with another
    ///     target, or content follows them.
    init?(_ bytes: ByteBuffer, length: Int, _ line: RequestLine, _ head: RequestHead) {
        guard length <= Self.limit, case .origin = line.target, head.framing == .none else { return nil }
        // A copy, which holds nothing but them.
        self.bytes = bytes.withUnsafeReadableBytes { ByteBuffer(bytes: $0.part(0..<length)) }
        made = head
    }

    /// The head of a request with this line, where the same fields follow it; they are taken then.
    func head(_ line: RequestLine, in pending: inout ByteBuffer) -> RequestHead? {
        guard case .origin(let target) = line.target, line.minorVersion == made.minorVersion,
            pending.readableBytes >= bytes.readableBytes
        else { return nil }
        let isSame = pending.withUnsafeReadableBytes { pending in
            bytes.withUnsafeReadableBytes { pending.part(0..<$0.count).isEqual(to: $0) }
        }
        guard isSame else { return nil }
        pending.moveReaderIndex(forwardBy: bytes.readableBytes)
        var head = made
        head.method = line.method
        head.target = target
        return head
    }
}
