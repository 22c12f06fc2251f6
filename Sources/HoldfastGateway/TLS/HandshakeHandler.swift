import Logging
import NIOCore
import NIOTLS

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Waits for a client's handshake behind the handler of TLS, and then gives its place to the
/// connection's handler. A client that does not complete it in time is disconnected.
///
/// It runs on the channel's event loop.
final class HandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let telemetry: LoopTelemetry
    private let logger: Logger
    private let makeConnection: () -> ConnectionHandler
    private var time: OpeningTime
    private var isOver = false

    /// - Parameters:
    ///   - timeouts: a handshake has the time for the first byte of a request, which has it once
    ///     more.
    ///   - makeConnection: makes the handler for what follows.
    init(
        _ timeouts: GatewayConfiguration.Timeouts,
        _ telemetry: LoopTelemetry,
        _ logger: Logger,
        _ makeConnection: @escaping () -> ConnectionHandler
    ) {
        time = OpeningTime(timeouts.request, timeouts)
        self.telemetry = telemetry
        self.logger = logger
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
        // The handler of TLS reads on until it has bytes for others.
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

    /// Has the system acknowledge the client's last message at once.
    ///
    /// The server has nothing to send now, and its acknowledgement would wait for 40 ms. So long
    /// does a client wait with its request whose system collects short segments (Nagle).
    private func acknowledge(_ channel: any Channel) {
        #if canImport(Glibc) || canImport(Musl)
            let option = ChannelOptions.tcpOption(NIOBSDSocket.Option(rawValue: TCP_QUICKACK))
            try? channel.syncOptions?.setOption(option, value: 1)
        #endif
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(HandshakeFailure(error), context, error)
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
        // Closing is an error for the handler of TLS.
        guard !isOver else { return }
        isOver = true
        time.release()
        telemetry.count(failure)
        logger.debug(
            "TLS handshake failed",
            metadata: ["tls.reason": "\(failure.rawValue)", "error": "\(error.map { "\($0)" } ?? "")"]
        )
        context.close(promise: nil)
    }
}
