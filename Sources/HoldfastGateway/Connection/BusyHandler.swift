import EventLoops
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import NIOCore

/// Responds with 503 on a connection that exceeds a limit, and closes the connection.
///
/// If few connections are being closed this way, it reads and drops the client's bytes for a while.
/// Closing a connection with unread bytes would reset it and lose the response. RFC 9112 §9.6
///
/// With TLS the client gets no response, because the handshake would cost more than serving the
/// request.
final class BusyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let service: GatewayService
    private let client: String?
    private let excess: ConnectionRegistry.Excess
    private let isSecure: Bool
    private let connections: ConnectionRegistry
    private let telemetry: LoopTelemetry
    private var deadline: Scheduled<Void>?

    init(
        service: GatewayService,
        client: String?,
        excess: ConnectionRegistry.Excess,
        isSecure: Bool = false,
        connections: ConnectionRegistry,
        telemetry: LoopTelemetry
    ) {
        self.service = service
        self.client = client
        self.excess = excess
        self.isSecure = isSecure
        self.connections = connections
        self.telemetry = telemetry
    }

    func handlerAdded(context: ChannelHandlerContext) {
        // A PROXY protocol header identifies the client only after the connection has become
        // active.
        if context.channel.isActive { respond(context) }
    }

    func channelActive(context: ChannelHandlerContext) { respond(context) }

    private func respond(_ context: ChannelHandlerContext) {
        let problem = excess == .all ? Problem.busy : .busyClient
        let inForce = service.inForce
        var responseContext = GatewayService.ResponseContext(inForce, nil)
        responseContext.requestID = inForce.requestID(of: nil, from: nil)
        let (head, body) = service.problemResponse(problem, responseContext)
        record(.whole(head, body), responseContext.requestID)
        guard !isSecure else { return context.close(promise: nil) }
        let (status, length) = (head.response.status.code, StatedLength(clamping: body.readableBytes))
        let framing = ResponseFraming(status, to: nil, minorVersion: 1, length: length, isKeptAlive: false)
        var bytes = framing.bytes(of: head)
        bytes.writeImmutableBuffer(body)
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
        guard connections.beginLingering() else { return context.close(promise: nil) }
        context.channel.closeFuture.whenComplete { [connections] _ in connections.endLingering() }
        let time = service.configuration.timeouts.closing.timeAmount
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: time) { context.close(promise: nil) }
        context.close(mode: .output, promise: nil)
        context.read()
    }

    /// Counts and logs the connection, because its requests are not read. The log's buffer limits a
    /// flood of such lines.
    private func record(_ response: GatewayResponse, _ requestID: String?) {
        let now = NIODeadline.now()
        var record = ExchangeRecord(
            client: GatewayClient(address: client, isSecure: isSecure),
            route: RouteLabels.none,
            start: now,
            end: now
        )
        record.requestID = requestID
        record.ordinal = ExchangeRecord.Ordinal(connection: ConnectionNumber.next(), request: 0)
        record.take(response)
        // Nothing is sent.
        if isSecure { (record.status, record.sentBytes) = (nil, 0) }
        telemetry.record(record)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func channelReadComplete(context: ChannelHandlerContext) {
        context.read()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event { return context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        deadline = nil
    }
}

extension Problem {
    fileprivate static let busy = Problem(
        .tooManyConnections,
        title: "Too many connections",
        status: 503,
        detail: "The gateway has reached its connection limit. Try again later.",
        retryAfter: 1
    )

    fileprivate static let busyClient = Problem(
        .tooManyConnectionsOfClient,
        title: "Too many connections from one client",
        status: 503,
        detail:
            "Your address has reached its limit of connections to the gateway. Close some, or reuse them for several requests.",
        retryAfter: 1
    )
}
