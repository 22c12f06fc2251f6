import EventLoops
import LibC
import Logging
import NIOCore
import NIOSSL
import NIOTLS

/// Waits for a client's handshake after the TLS handler, and is then replaced with the connection's
/// handler. It disconnects a client that does not complete the handshake in time.
///
/// It runs on the channel's event loop.
final class HandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let telemetry: LoopTelemetry
    private let logger: Logger
    private let makeConnection: () -> ConnectionHandler
    private let whenFailed: ((HandshakeFailure) -> Void)?
    private var time: OpeningTime
    private var isOver = false

    /// - Parameters:
    ///   - timeouts: the handshake gets as much time as a request's first byte. After the
    ///     handshake, the request gets that time again.
    ///   - whenFailed: called if the handshake fails.
    ///   - makeConnection: creates the handler for the connection.
    init(
        _ timeouts: GatewayConfiguration.Timeouts,
        _ telemetry: LoopTelemetry,
        _ logger: Logger,
        whenFailed: ((HandshakeFailure) -> Void)? = nil,
        _ makeConnection: @escaping () -> ConnectionHandler
    ) {
        time = OpeningTime(timeouts.request, timeouts)
        self.telemetry = telemetry
        self.logger = logger
        self.whenFailed = whenFailed
        self.makeConnection = makeConnection
    }

    func handlerAdded(context: ChannelHandlerContext) {
        time.whenPassed { [unowned self] in fail(.timeout, context) }
        if context.channel.isActive { begin(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { time.release() }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    private func begin(_ context: ChannelHandlerContext) {
        time.begin(context)
        // The TLS handler then keeps reading until it has bytes for other handlers.
        context.read()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is TLSUserEvent: if case .handshakeCompleted? = event as? TLSUserEvent { complete(context) }
        case is DrainEvent: time.drain(context)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    private func complete(_ context: ChannelHandlerContext) {
        guard !isOver else { return }
        isOver = true
        time.release()
        acknowledge(context.channel)
        let pipeline = context.pipeline.syncOperations
        do {
            try pipeline.addHandler(makeConnection(), position: .after(self))
        } catch {
            return context.close(promise: nil)
        }
        if time.isDraining { context.fireUserInboundEventTriggered(DrainEvent()) }
        pipeline.removeHandler(context: context, promise: nil)
    }

    /// Makes the kernel acknowledge the client's last message immediately.
    ///
    /// The server has nothing to send now, so its acknowledgement would be delayed by 40 ms. A
    /// client that collects short segments (Nagle's algorithm) waits that long before it sends its
    /// request.
    private func acknowledge(_ channel: any Channel) {
        #if canImport(Glibc) || canImport(Musl)
            let option = ChannelOptions.tcpOption(NIOBSDSocket.Option(rawValue: TCP_QUICKACK))
            try? channel.syncOptions?.setOption(option, value: 1)
        #endif
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if !isOver, HandshakeFailure.isRequest(error) { refuseRequest(context) }
        fail(HandshakeFailure(error), context, error)
    }

    /// Tells a client that sent a request without TLS what to do. The response is written below the
    /// TLS handler, which sends nothing after a failed handshake.
    private func refuseRequest(_ context: ChannelHandlerContext) {
        guard let tls = try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) else {
            return
        }
        let content = "This port uses TLS. Use an 'https://' URL.\n"
        let head =
            "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: \(content.utf8.count)\r\n"
            + "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
        tls.writeAndFlush(NIOAny(context.channel.allocator.buffer(string: head + content)), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        time.release()
        context.fireChannelInactive()
    }

    private func fail(
        _ failure: HandshakeFailure,
        _ context: ChannelHandlerContext,
        _ error: (any Error)? = nil
    ) {
        // The TLS handler also reports a closed connection as an error.
        guard !isOver else { return }
        isOver = true
        time.release()
        telemetry.count(failure)
        whenFailed?(failure)
        logger.debug(
            "TLS handshake failed",
            metadata: ["tls.reason": "\(failure.rawValue)", "error": "\(error.map { "\($0)" } ?? "")"]
        )
        context.close(promise: nil)
    }
}
