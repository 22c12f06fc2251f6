import EventLoops
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import NIOCore
import NIOSSL

/// Waits for the first request on a connection to a ``CommandProxy``. After a CONNECT, it is
/// replaced with TLS for the tunnel's host, and otherwise with a connection whose requests name
/// their origins. It disconnects a client that sends no request in time.
///
/// It runs on the channel's event loop.
final class ConnectHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        case reading
        /// The tunnel's certificate is being made.
        case waiting
        case over
    }

    private let proxy: CommandProxy
    private let service: GatewayService
    private let client: ClientAddress
    private let loop: ServingLoop
    private var time: OpeningTime
    private var received = ByteBuffer()
    private var state = State.reading

    init(_ proxy: CommandProxy, _ service: GatewayService, _ client: ClientAddress, _ loop: ServingLoop) {
        self.proxy = proxy
        self.service = service
        self.client = client
        self.loop = loop
        let timeouts = service.configuration.timeouts
        time = OpeningTime(timeouts.request, timeouts)
    }

    // MARK: Events of the channel

    func handlerAdded(context: ChannelHandlerContext) {
        time.whenPassed { [unowned self] in end(context) }
        if context.channel.isActive { begin(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { time.release() }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    private func begin(_ context: ChannelHandlerContext) {
        time.begin(context)
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .over = state else { return received.append(unwrapInboundIn(data)) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard case .reading = state else { return context.fireChannelReadComplete() }
        switch ConnectRequest.read(received) {
        case .needsMore: context.read()
        case .refused(let refusal): respond(Problem(refusal), context)
        case .connect(let request): connect(request, context)
        case .other: serveRequests(context)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed: end(context)
        case is DrainEvent: time.drain(context)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { end(context) }

    func channelInactive(context: ChannelHandlerContext) {
        state = .over
        time.release()
        context.fireChannelInactive()
    }

    // MARK: Tunnels

    private func connect(_ request: ConnectRequest, _ context: ChannelHandlerContext) {
        guard proxy.admits(request.fields) else { return respond(.proxyPassword, context) }
        let host = request.host.name
        if let problem = proxy.problem(ofPort: request.port, of: host) { return respond(problem, context) }
        state = .waiting
        received.moveReaderIndex(forwardBy: request.length)
        let promise = context.eventLoop.makePromise(of: [UInt8].self)
        proxy.certificates.certificate(for: host) { promise.completeWith($0) }
        promise.futureResult.assumeIsolated().whenComplete { result in
            guard case .waiting = self.state else { return }
            do {
                try self.beginTunnel(to: request.host, try result.get(), context)
            } catch {
                self.proxy.report(.refused(host: host, reason: "\(error)"))
                self.respond(.noCertificate(host, "\(error)"), context)
            }
        }
    }

    private func beginTunnel(
        to host: RequestedHost,
        _ certificate: [UInt8],
        _ context: ChannelHandlerContext
    ) throws {
        let (service, client, loop) = (service, client, loop)
        let scope = ProxyScope(proxy, tunnel: host)
        let tls = try TunnelTLS.handler(for: host.name, certificate, proxy.key) {
            scope.reportFailedHandshake("the client named another host")
        }
        let handshake = HandshakeHandler(
            service.configuration.timeouts,
            loop.telemetry.value,
            service.logger,
            whenFailed: { failure in
                if let reason = failure.reasonInTunnel { scope.reportFailedHandshake(reason) }
            }
        ) {
            ConnectionHandler(service: service, client: client, loop: loop, tls: tls, scope: scope)
        }
        try ListenerTLS.limitReads(of: context.channel)
        let established = ByteBuffer(string: "HTTP/1.1 200 Connection established\r\n\r\n")
        context.writeAndFlush(wrapOutboundOut(established), promise: nil)
        try context.pipeline.syncOperations.addHandlers(tls, handshake)
        context.channel.closeFuture.whenComplete { _ in scope.reportEnd() }
        hand(over: context)
    }

    // MARK: Requests outside tunnels

    private func serveRequests(_ context: ChannelHandlerContext) {
        let connection = ConnectionHandler(
            service: service,
            client: client,
            loop: loop,
            acceptsHTTP2: false,
            scope: ProxyScope(proxy, tunnel: nil)
        )
        do {
            try context.pipeline.syncOperations.addHandler(connection)
        } catch {
            return end(context)
        }
        hand(over: context)
    }

    // MARK: The end

    /// Gives the connection to the handlers that were added.
    private func hand(over context: ChannelHandlerContext) {
        state = .over
        time.release()
        if time.isDraining { context.fireUserInboundEventTriggered(DrainEvent()) }
        if received.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(received)) }
        received = ByteBuffer()
        context.fireChannelReadComplete()
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    private func respond(_ problem: Problem, _ context: ChannelHandlerContext) {
        state = .over
        time.release()
        received = ByteBuffer()
        let (head, content) = service.problemResponse(problem)
        let (status, length) = (head.response.status.code, StatedLength(clamping: content.readableBytes))
        let framing = ResponseFraming(status, to: nil, minorVersion: 1, length: length, isKeptAlive: false)
        var bytes = framing.bytes(of: head)
        bytes.writeImmutableBuffer(content)
        context.writeAndFlush(wrapOutboundOut(bytes)).assumeIsolated().whenComplete { _ in
            context.close(promise: nil)
        }
    }

    private func end(_ context: ChannelHandlerContext) {
        if case .over = state { return }
        state = .over
        time.release()
        received = ByteBuffer()
        context.close(promise: nil)
    }
}

extension HandshakeFailure {
    /// Why a client did not complete the handshake in a tunnel; `nil` if it only went away.
    fileprivate var reasonInTunnel: String? {
        switch self {
        case .clientClosed, .timeout, .other: nil
        case .notTLS: "the client does not speak TLS"
        case .version, .noCommonCipher: "the client speaks no common version of TLS"
        case .clientCertificate, .rejectedByClient:
            "the client does not trust the certificate: it accepts only certificates that it knows, or reads none of the variables for certificates"
        }
    }
}
