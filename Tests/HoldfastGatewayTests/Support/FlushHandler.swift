import NIOCore

/// Does something within each of its first flushes.
final class FlushHandler: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    enum Deed: Sendable { case read, close }

    private let deed: Deed
    private let bytes: [UInt8]
    private let whenDone: @Sendable () -> Void
    private var rest = 20

    /// - Parameter bytes: what comes within a flush.
    init(_ deed: Deed, reading bytes: [UInt8], whenDone: @escaping @Sendable () -> Void) {
        self.deed = deed
        self.bytes = bytes
        self.whenDone = whenDone
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        guard rest > 0 else { return }
        rest -= 1
        switch deed {
        case .read:
            context.fireChannelRead(NIOAny(ByteBuffer(bytes: bytes)))
            context.fireChannelReadComplete()
        case .close:
            context.close(promise: nil)
        }
        whenDone()
    }
}
