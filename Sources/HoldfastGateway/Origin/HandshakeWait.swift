import NIOCore
import NIOTLS

/// Waits for the end of the handshake of TLS with an origin: before it, no request is sent, so one
/// that is not repeatable may go to another server.
final class HandshakeWait: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private var promise: EventLoopPromise<Void>?
    private var isActive = false

    init(_ promise: EventLoopPromise<Void>) { self.promise = promise }

    func channelActive(context: ChannelHandlerContext) {
        context.fireChannelActive()
        // NIOSSL goes on reading until the handshake is completed.
        context.read()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { promise.take()?.succeed() }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        promise.take()?.fail(error)
        context.fireErrorCaught(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        promise.take()?.fail(ChannelError.eof)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { promise.take()?.fail(ChannelError.eof) }
}
