import LibC
import NIOCore
import NIOSSL
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
    private let tls: NIOSSLClientHandler
    private let identity: OriginIdentity
    private let writes: HandshakeWrites

    init(_ tls: NIOSSLClientHandler, _ identity: OriginIdentity, _ writes: HandshakeWrites) {
        (self.tls, self.identity, self.writes) = (tls, identity, writes)
    }

    /// Returns a future that completes with the handshake. Call this on the channel's event loop.
    func completion(on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        if let result { return eventLoop.makeCompletedFuture(result) }
        let promise = self.promise ?? eventLoop.makePromise()
        self.promise = promise
        return promise.futureResult
    }

    private func finish(_ result: Result<Void, any Error>) {
        guard self.result == nil else { return }
        writes.isOver = true
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
        finish(.failure(cause(of: error)))
        context.fireErrorCaught(error)
    }

    /// Returns the failed write that caused the error, if there is one; or the error with the dates
    /// or the names of a rejected certificate. NIOSSL reports only that the certificate was
    /// rejected, and the certificate is gone once the connection is closed.
    private func cause(of error: any Error) -> any Error {
        if TLSErrorNumber(error) == nil, !(error is IOError), let failed = writes.error as? IOError { return failed }
        guard let certificate = tls.peerCertificate else { return error }
        if let error = error as? NIOSSLExtraError, error == .failedToValidateHostname {
            return identity.mismatch(certificate)
        }
        guard TLSErrorNumber(error) == .certificateRejected else { return error }
        return UntrustedCertificate(
            notBefore: Int64(clamping: certificate.notValidBefore),
            notAfter: Int64(clamping: certificate.notValidAfter),
            // The certificate was verified with the system's time too.
            now: Int64(clamping: time(nil)),
            cause: error
        )
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(.failure(cause(of: ChannelError.eof)))
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { finish(.failure(ChannelError.eof)) }
}
