import EventLoops
import NIOCore
import NIOSSL

/// A side of a tunnel that is an entire connection: an HTTP/1.1 client's, or the origin's.
///
/// It runs on the channel's event loop, which is also the tunnel's.
final class TunnelChannelEnd: ChannelDuplexHandler, TunnelEnd {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let side: TunnelMachine.Side
    /// `nil` when the tunnel is over.
    private var tunnel: Tunnel?
    /// The time that the peer gets to read the last bytes.
    private let patience: TimeAmount
    private let deadline = WriteDeadline()
    private var context: ChannelHandlerContext?
    /// Counts the connection, if it is a client's.
    private let telemetry: LoopTelemetry?
    /// Held while the connection is open.
    private var permit: SharedPermits.Permit?
    private var isCounted = false
    private var hasFailed = false

    init(
        _ side: TunnelMachine.Side,
        of tunnel: Tunnel,
        _ permit: SharedPermits.Permit,
        patience: TimeAmount,
        _ telemetry: LoopTelemetry? = nil
    ) {
        self.side = side
        self.tunnel = tunnel
        self.permit = permit
        self.patience = patience
        self.telemetry = telemetry
    }

    // MARK: Events of the channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        guard context.channel.isActive else { return }
        isCounted = true
        telemetry?.countConnection(nil, to: .active)
    }

    func handlerRemoved(context: ChannelHandlerContext) { lose() }

    func channelInactive(context: ChannelHandlerContext) {
        lose()
        context.fireChannelInactive()
    }

    private func lose() {
        if isCounted { telemetry?.countConnection(.active, to: nil) }
        isCounted = false
        deadline.release()
        context = nil
        permit = nil
        tunnel.take()?.lose(side, hasFailed: hasFailed)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        tunnel?.receive(unwrapInboundIn(data), from: side)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { tunnel?.makeRoom(at: side) }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed: tunnel?.closeInput(of: side)
        case is DrainEvent: tunnel?.drain()
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        hasFailed = true
        // The peer closed its side without a TLS close alert. The event for a closed side follows.
        if let error = error as? NIOSSLError, case .uncleanShutdown = error { return }
        context.close(promise: nil)
    }

    /// Closes the connection for another part of the gateway, because the gateway shuts down.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode == .all { tunnel.take()?.endFromOutside() }
        context.close(mode: mode, promise: promise)
    }

    // MARK: The tunnel

    var hasRoom: Bool { context?.channel.isWritable ?? true }

    var untaken: Int { context?.channel.untaken ?? 0 }

    func pass(_ bytes: ByteBuffer) { context?.writeAndFlush(wrapOutboundOut(bytes), promise: nil) }

    func read() { context?.read() }

    func closeSending() { context?.close(mode: .output, promise: nil) }

    func close(isInOrder: Bool) {
        tunnel = nil
        guard let context else { return }
        let eventLoop = context.eventLoop
        let taken = eventLoop.makePromise(of: Void.self)
        // After the flush: see ``ConnectionOutput/close()``.
        taken.futureResult.assumeIsolated().whenComplete { _ in
            eventLoop.assumeIsolated().execute { self.end(isInOrder: isInOrder) }
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: taken)
        if let context = self.context { deadline.begin(patience, on: context.channel) }
    }

    /// Closes the connection. TLS sends no close alert if data may be missing, because the alert
    /// would mean that the data is complete.
    private func end(isInOrder: Bool) {
        guard let context else { return }
        let pipeline = context.pipeline.syncOperations
        guard !isInOrder,
            let tls = (try? pipeline.context(handlerType: NIOSSLServerHandler.self))
                ?? (try? pipeline.context(handlerType: NIOSSLClientHandler.self))
        else { return context.close(promise: nil) }
        tls.close(promise: nil)
    }
}
