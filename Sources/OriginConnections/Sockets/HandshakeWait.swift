import NIOCore
import NIOTLS

/// Waits for the end of an origin's TLS handshake. No request is sent before that, so if the
/// handshake fails, even a request that is not repeatable may go to another server.
///
/// Each channel has its own instance, because a name with several addresses may need several
/// connections.
final class HandshakeWait: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    private var result: Result<Void, any Error>?
    private var promise: EventLoopPromise<Void>?

    /// Returns a future that completes with the handshake. Call this on the channel's event loop.
    func completion(on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        if let result { return eventLoop.makeCompletedFuture(result) }
        let promise = self.promise ?? eventLoop.makePromise()
        self.promise = promise
        return promise.futureResult
    }

    private func finish(_ result: Result<Void, any Error>) {
        guard self.result == nil else { return }
        self.result = result
        promise.take()?.completeWith(result)
    }

    func channelActive(context: ChannelHandlerContext) {
        context.fireChannelActive()
        // NIOSSL keeps reading until the handshake is complete.
        context.read()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { finish(.success(())) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        finish(.failure(error))
        context.fireErrorCaught(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(.failure(ChannelError.eof))
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { finish(.failure(ChannelError.eof)) }
}
