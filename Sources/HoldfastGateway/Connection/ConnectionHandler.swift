import EventLoops
import NIOCore
import NIOSSL

/// The channel handler of one client's HTTP/1 connection. It passes the channel's events to the
/// connection's ``RequestSequence``, and hands the channel over to another protocol.
///
/// Everything runs on the channel's event loop.
final class ConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// `nil` without TLS. The handshake is complete.
    private let tls: NIOSSLServerHandler?
    private let output: ConnectionOutput
    private let reads: ClientReads
    private let requests: RequestSequence
    private var context: ChannelHandlerContext?

    init(
        service: GatewayService,
        client: ClientAddress,
        loop: ServingLoop,
        tls: NIOSSLServerHandler? = nil,
        acceptsHTTP2: Bool = true,
        scope: ProxyScope? = nil
    ) {
        self.tls = tls
        let times = service.inForce.clientTimes
        output = ConnectionOutput(round: .of(loop.eventLoop), patience: times.write)
        reads = ClientReads(times)
        requests = RequestSequence(service: service, loop: loop, acceptsHTTP2: acceptsHTTP2, reads, output) {
            ClientSession(
                service: service,
                client: GatewayClient(
                    address: client.text,
                    tlsVersion: tls?.versionName,
                    isSecure: tls != nil,
                    statesHTTPS: service.inForce.configuration.statesHTTPS,
                    hasOwnAddress: client.isOwn
                ),
                executor: loop.executor,
                lookups: loop.lookups,
                telemetry: loop.telemetry.value,
                hot: loop.hot.value,
                scope: scope
            )
        }
    }

    // MARK: Events of the channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        output.open(context, tls)
        reads.open(context, requests)
        requests.open(self)
        if context.channel.isActive { requests.connect() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        requests.end()
        requests.release()
        self.context = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        requests.connect()
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        output.beginReading()
        reads.beginDelivery()
        requests.receive(unwrapInboundIn(data))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        output.endReading()
        reads.endDelivery()
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed: requests.closeInput()
        case is DrainEvent: requests.drain()
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, output.resume() { requests.proceed() }
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The client closed its side without a TLS close alert. The event for a closed side
        // follows, as it does without TLS. The framing of requests shows whether one was cut short.
        if let error = error as? NIOSSLError, case .uncleanShutdown = error { return }
        close(context: context, mode: .all, promise: nil)
    }

    /// Closes the connection for another part of the gateway, because the gateway shuts down or the
    /// client does not read.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .all, requests.isServing else { return context.close(mode: mode, promise: promise) }
        output.breakOff(promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        requests.end()
        context.fireChannelInactive()
    }

    // MARK: Calls from the requests

    /// Closes the connection without a response.
    func disconnect() { context?.close(promise: nil) }

    /// Hands the connection over to HTTP/2.
    ///
    /// - Parameter bytes: the bytes that the client has sent so far.
    func beginHTTP2(_ session: ClientSession, _ number: Int64, with bytes: ByteBuffer) {
        let connection = HTTP2Connection(service: session.service, session: session, tls: tls, number: number)
        let (isReading, isDraining) = (reads.isDelivering, requests.isDraining)
        guard replace(with: connection) else { return }
        if isDraining { connection.drain() }
        connection.receive(bytes)
        // During a read, the new handler sees the end of the read anyway.
        if !isReading { connection.endReading() }
    }

    /// Hands the connection over to a tunnel, after the response's head is written.
    ///
    /// - Parameters:
    ///   - end: the client's side of the tunnel.
    ///   - bytes: the bytes of the other protocol that the client has sent so far.
    func begin(_ tunnel: Tunnel, _ end: TunnelChannelEnd, with bytes: ByteBuffer, _ origin: TunnelOrigin) {
        let (isInputClosed, isDraining) = (requests.isInputClosed, requests.isDraining)
        guard replace(with: end) else {
            origin.channel.close(promise: nil)
            return tunnel.endFromOutside()
        }
        if isDraining { tunnel.drain() }
        tunnel.join(Tunnel.Beginning(end: end, bytes: bytes, isLast: isInputClosed), origin.beginning)
    }

    /// Replaces this handler in the pipeline, which ends the requests.
    private func replace(with next: any ChannelHandler) -> Bool {
        guard let context else { return false }
        let pipeline = context.pipeline.syncOperations
        do {
            try pipeline.addHandler(next, position: .after(self))
        } catch {
            context.close(promise: nil)
            return false
        }
        pipeline.removeHandler(context: context, promise: nil)
        return true
    }
}
