import NIOCore

/// Remembers why a write of a TLS handshake failed. Above TLS, such a failure looks like a server
/// that ended the handshake, although it may have reset the connection.
final class HandshakeWrites: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The first failure.
    private(set) var error: (any Error)?
    /// Whether the handshake is over. After that, writes pass unwatched.
    var isOver = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isOver else { return context.write(data, promise: promise) }
        let written = promise ?? context.eventLoop.makePromise()
        // The channel fails its writes before it reports its end.
        written.futureResult.assumeIsolated().whenFailure { error in
            if self.error == nil { self.error = error }
        }
        context.write(data, promise: written)
    }
}
