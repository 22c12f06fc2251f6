import EventLoops
import HTTPWire
import HoldfastConfiguration
import NIOCore

/// Waits for the PROXY protocol header, which comes before TLS, and is then replaced with the
/// connection's handlers. It disconnects a peer that does not send the header in time.
///
/// It runs on the channel's event loop.
final class ProxyHeaderHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let peer: String?
    private let isTrusted: Bool
    private let telemetry: LoopTelemetry
    private let log: ProxyRefusalLog
    private let addHandlers: (ClientAddress) throws -> Void
    private var time: OpeningTime
    private var received = ByteBuffer()
    private var isOver = false

    /// - Parameters:
    ///   - peer: the proxy's address.
    ///   - isTrusted: whether the peer may name its clients. If not, the connection is closed
    ///     immediately.
    ///   - addHandlers: adds the connection's handlers. It gets the client's address, or the
    ///     proxy's if the header names no client.
    init(
        _ peer: String?,
        isTrusted: Bool,
        _ timeouts: GatewayConfiguration.Timeouts,
        _ telemetry: LoopTelemetry,
        _ log: ProxyRefusalLog,
        _ addHandlers: @escaping (ClientAddress) throws -> Void
    ) {
        self.peer = peer
        self.isTrusted = isTrusted
        time = OpeningTime(timeouts.head, timeouts)
        self.telemetry = telemetry
        self.log = log
        self.addHandlers = addHandlers
    }

    // MARK: Events of the channel

    func handlerAdded(context: ChannelHandlerContext) {
        time.whenPassed { [unowned self] in refuse(.timeout, context) }
        if context.channel.isActive { begin(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { time.release() }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard isTrusted else { return refuse(.untrusted, context) }
        time.begin(context)
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        received.append(unwrapInboundIn(data))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard !isOver else { return context.fireChannelReadComplete() }
        switch received.withUnsafeReadableBytes({ ProxyHeader.read($0) }) {
        case .needsMore: context.read()
        case .refused(let refusal): refuse(refusal, context)
        case .header(let header): complete(header, context)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed: refuse(.closed, context)
        case is DrainEvent: time.drain(context)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { refuse(.closed, context) }

    func channelInactive(context: ChannelHandlerContext) {
        refuse(.closed, context)
        context.fireChannelInactive()
    }

    // MARK: The end

    private func complete(_ header: ProxyHeader, _ context: ChannelHandlerContext) {
        isOver = true
        time.release()
        received.moveReaderIndex(forwardBy: header.length)
        do {
            let named = header.endpoints.map { ClientAddress(text: AddressRange.plain($0.source.address)) }
            try addHandlers(named ?? ClientAddress(text: peer, isOwn: false))
        } catch {
            return context.close(promise: nil)
        }
        if time.isDraining { context.fireUserInboundEventTriggered(DrainEvent()) }
        // These are the bytes after the header.
        if received.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(received)) }
        received = ByteBuffer()
        context.fireChannelReadComplete()
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    private func refuse(_ refusal: ProxyRefusal, _ context: ChannelHandlerContext) {
        guard !isOver else { return }
        isOver = true
        received = ByteBuffer()
        time.release()
        telemetry.count(refusal)
        log.warn(of: refusal, peer)
        context.close(promise: nil)
    }
}
