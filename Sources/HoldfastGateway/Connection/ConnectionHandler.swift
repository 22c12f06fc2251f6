import HTTPCache
import HTTPTypes
import HoldfastTracing
import NIOCore
import NIOSSL

/// One client's HTTP/1 connection. It performs what ``ConnectionMachine`` decides: it reads, begins
/// a ``ClientExchange`` for each request, and watches over the client's deadlines.
///
/// ``HTTP1ResponseWriter`` writes the responses. All of it runs on the channel's event loop.
final class ConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler, RequestContent {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let service: GatewayService
    private let client: ClientAddress
    /// Its handshake has been completed; `nil` without TLS.
    private let tls: NIOSSLServerHandler?
    private let executor: LoopExecutor
    private let lookups: DiskLookups
    private let telemetry: LoopTelemetry
    private let hot: HotTable
    private let output: ConnectionOutput
    private let writer: HTTP1ResponseWriter
    private var machine: ConnectionMachine
    private var context: ChannelHandlerContext?
    private lazy var session = ClientSession(
        service: service,
        client: GatewayClient(
            address: client.text,
            tlsVersion: tls?.versionName,
            isSecure: isSecure,
            hasOwnAddress: client.isOwn
        ),
        executor: executor,
        lookups: lookups,
        telemetry: telemetry,
        hot: hot
    )
    private var exchange: ClientExchange?
    /// As the telemetry counts it; `nil` before the channel is active, and after the end. A
    /// response that is written at once does not change it.
    private var state: ConnectionState?
    private let number = ConnectionNumber.next()
    /// The requests that have come, also those that were not valid.
    private var requestCount: Int64 = 0
    /// The piece of content for which the exchange waits, and since when.
    private var content: EventLoopPromise<ContentDecoder.Event>?
    private var contentWantedAt = NIODeadline.now()
    private var pace: UploadPace
    private let deadline: ClientDeadline
    private let lateRequest: TimeAmount
    /// Whether the channel was asked for bytes and has brought none since.
    private var isReadWanted = false
    private var isProceeding = false
    private var mustProceed = false
    /// When the bytes came that the channel is handing over; `nil` if it is not.
    private var readAt: NIODeadline?

    init(
        service: GatewayService,
        client: ClientAddress,
        loop: ServingLoop,
        tls: NIOSSLServerHandler? = nil,
        acceptsHTTP2: Bool = true
    ) {
        self.service = service
        self.client = client
        self.tls = tls
        executor = loop.executor
        lookups = loop.lookups
        telemetry = loop.telemetry.value
        hot = loop.hot.value
        let timeouts = service.configuration.timeouts
        deadline = ClientDeadline(timeouts)
        lateRequest = timeouts.lateRequest.timeAmount
        output = ConnectionOutput(round: .of(loop.eventLoop), patience: timeouts.write.timeAmount)
        writer = HTTP1ResponseWriter(
            service: service,
            executor: executor,
            hot: hot,
            telemetry: telemetry,
            output: output
        )
        pace = UploadPace(rate: service.configuration.uploadRate, patience: timeouts.slowContent.timeAmount)
        machine = ConnectionMachine(
            limits: service.configuration.messageLimits,
            discardLimit: service.configuration.discardedContentLimit,
            acceptsHTTP2: acceptsHTTP2
        )
    }

    // MARK: Events of the channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        writer.connection = self
        output.open(context, tls)
        deadline.whenPassed { [unowned self] in timeOut($0) }
        if context.channel.isActive { connect() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
        writer.connection = nil
        self.context = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        connect()
        context.fireChannelActive()
    }

    private func connect() {
        guard deadline.awaited == nil else { return }
        if state == nil {
            state = .idle
            telemetry.countConnection(nil, to: .idle)
        }
        proceed()
    }

    private func enter(_ next: ConnectionState?) {
        guard let state, state != next else { return }
        telemetry.countConnection(state, to: next)
        self.state = next
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        output.beginReading()
        isReadWanted = false
        readAt = .now()
        switch machine.receive(unwrapInboundIn(data)) {
        case .next(let action): perform(action)
        case .content(let action): perform(action)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        output.endReading()
        readAt = nil
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed: closeInput()
        case is DrainEvent: drain()
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    private func closeInput() {
        switch machine.closeInput() {
        case .none: break
        case .proceed: proceed()
        case .failContent(let refusal): failContent(refusal)
        case .close: close()
        }
    }

    private func drain() {
        switch machine.drain() {
        case .none: break
        // From now on, less time is left for it. A channel that is not active yet begins later.
        case .awaitRequest: if deadline.awaited == .request { begin(.request) }
        case .close: close()
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, output.resume() { proceed() }
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The client has closed its side without the alert of TLS. Its event follows, as without
        // TLS: the framing of requests tells whether one is cut short.
        if let error = error as? NIOSSLError, case .uncleanShutdown = error { return }
        close(context: context, mode: .all, promise: nil)
    }

    /// Closes the connection for others: the gateway ends, or the client does not read.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .all, exchange != nil else { return context.close(mode: mode, promise: promise) }
        output.breakOff(promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    /// The client has gone: its exchange ends.
    private func end() {
        enter(nil)
        machine.close()
        deadline.release()
        exchange.take()?.cancel()
        content.take()?.fail(CancellationError())
        output.release()
    }

    // MARK: Requests

    /// Serves the requests that have come, one after the other, as long as their responses are
    /// there at once.
    private func proceed() {
        mustProceed = true
        // A request that is served at once leads here again: it is the loop's next round and not
        // one call deeper.
        guard !isProceeding else { return }
        isProceeding = true
        while mustProceed, !output.isHeldBack {
            mustProceed = false
            guard let head = machine.wholeHead else {
                // A request that is not compared with earlier ones must not pass for one of them.
                writer.releaseRequestBytes()
                beginRequest(in: session.drawTrace())
                continue
            }
            let trace = session.drawTrace()
            if trace == nil, writer.respondHot(to: head, since: readAt ?? .now()) {
                deadline.stop()
                requestCount += 1
                machine.skipRequest(head)
                mustProceed = true
            } else {
                if trace != nil { writer.releaseRequestBytes() }
                beginRequest(in: trace)
            }
        }
        isProceeding = false
        output.flushSoon()
    }

    /// - Parameter trace: drawn only if a request has come.
    private func beginRequest(in trace: @autoclosure () -> TraceID?) {
        switch machine.beginRequest() {
        case .none: break
        case .begin(let head): begin(head, in: trace())
        case .refuse(let refusal): refuse(refusal)
        case .waitForRequest: read(.request)
        case .waitForHead: read(.head)
        case .close: close()
        case .changeProtocol(let bytes): beginHTTP2(with: bytes)
        }
    }

    /// Makes place for the handler of HTTP/2.
    ///
    /// - Parameter bytes: what the client has sent so far.
    private func beginHTTP2(with bytes: ByteBuffer) {
        guard let context else { return }
        let connection = HTTP2Connection(service: service, session: session, tls: tls, number: number)
        let pipeline = context.pipeline.syncOperations
        do {
            try pipeline.addHandler(connection, position: .after(self))
        } catch {
            return context.close(promise: nil)
        }
        let (isReading, isDraining) = (readAt != nil, machine.isDraining)
        pipeline.removeHandler(context: context, promise: nil)
        if isDraining { connection.drain() }
        connection.receive(bytes)
        // Otherwise the end of the reading comes to it by itself.
        if !isReading { connection.endReading() }
    }

    /// The current request may be the last one of HTTP on this connection.
    func beginUpgrade() { machine.beginUpgrade() }

    /// Makes place for a tunnel of another protocol, whose head is written.
    func beginTunnel(_ tunnel: Tunnel, _ origin: TunnelOrigin, _ permit: TunnelPermits.Permit) {
        // The tunnel ends the exchange.
        exchange = nil
        guard let context else {
            origin.channel.close(promise: nil)
            return tunnel.endFromOutside()
        }
        let bytes = machine.switchProtocol()
        let patience = service.configuration.timeouts.write.timeAmount
        let end = TunnelChannelEnd(.client, of: tunnel, permit, patience: patience, telemetry)
        let pipeline = context.pipeline.syncOperations
        let (isInputClosed, isDraining) = (machine.isInputClosed, machine.isDraining)
        do {
            try pipeline.addHandler(end, position: .after(self))
        } catch {
            context.close(promise: nil)
            origin.channel.close(promise: nil)
            return tunnel.endFromOutside()
        }
        pipeline.removeHandler(context: context, promise: nil)
        if isDraining { tunnel.drain() }
        tunnel.join(Tunnel.Beginning(end: end, bytes: bytes, isLast: isInputClosed), origin.beginning)
    }

    private func begin(_ head: RequestHead, in trace: TraceID?) {
        deadline.stop()
        if head.hasContent { pace.restart(rate: service.configuration.uploadRate) }
        writer.begin(head)
        let ordinal = nextOrdinal
        requestCount += 1
        let exchange = ClientExchange(
            head.request,
            of: session,
            content: self,
            to: writer,
            in: trace,
            since: readAt ?? .now(),
            at: ordinal
        )
        self.exchange = exchange
        // An equal request gets a span too, so the response is not kept for it.
        if exchange.trace.span != nil { writer.releaseRequestBytes() }
        exchange.begin(repeatsFields: machine.isHeadRepeated)
        guard !exchange.isOver else { return }
        enter(.active)
        writer.releaseRequestBytes()
        // One piece of what comes next is read while this request is served: the system is then not
        // told to watch the connection less, and a moment later more. A client that goes away is
        // noticed that way, too.
        if !head.hasContent { read() }
    }

    /// Responds to bytes that are no valid request: there is no exchange for them.
    private func refuse(_ refusal: MessageRefusal) {
        deadline.stop()
        writer.begin(nil)
        let ordinal = nextOrdinal
        requestCount += 1
        writer.respond(with: session.refuse(refusal, since: readAt ?? .now(), at: ordinal))
    }

    // MARK: The exchange

    var isSecure: Bool { tls != nil }

    /// The client's address, and how it is connected.
    var sessionClient: GatewayClient { session.client }

    /// See ``ClientSession/hotKey(of:)``.
    func hotKey(of head: ByteBuffer) -> HotKey { session.hotKey(of: head) }

    /// The number of the next request on this connection.
    var nextOrdinal: ExchangeRecord.Ordinal { ExchangeRecord.Ordinal(connection: number, request: requestCount + 1) }

    /// Whether the connection stays open after the current response.
    var isKeptAlive: Bool { machine.isKeptAlive }

    func nextContent() -> EventLoopFuture<ContentDecoder.Event>? {
        guard let context, content == nil else { return nil }
        let promise = context.eventLoop.makePromise(of: ContentDecoder.Event.self)
        content = promise
        contentWantedAt = .now()
        deadline.begin(.content, within: pace.allowance, on: context.eventLoop)
        perform(machine.wantContent())
        return promise.futureResult
    }

    func discardContent() {
        if machine.discardContent() { read() }
    }

    private func perform(_ action: ConnectionMachine.ContentAction) {
        switch action {
        case .hand(let event):
            deadline.stop()
            if case .body(let bytes) = event {
                pace.record(bytes.readableBytes, after: .now() - contentWantedAt)
                exchange?.countContent(bytes.readableBytes)
            }
            content.take()?.succeed(event)
        case .fail(let refusal):
            failContent(refusal)
        case .read:
            read()
        case .sayContinue:
            output.put(Self.continueHead)
            output.flush()
            read()
        }
    }

    private static let continueHead = ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")

    private func failContent(_ refusal: MessageRefusal) {
        deadline.stop()
        content.take()?.fail(refusal)
    }

    /// The response is written.
    ///
    /// - Parameter keepingAlive: what its head announced.
    func endResponse(keepingAlive: Bool) {
        exchange = nil
        if state == .active { enter(.idle) }
        content.take()?.fail(CancellationError())
        let action = machine.endResponse(keepingAlive: keepingAlive)
        // One deadline for the rest of the content, which is dropped.
        if case .read = action, deadline.awaited == nil { begin(.content) }
        perform(action)
    }

    private func perform(_ action: ConnectionMachine.NextAction) {
        switch action {
        case .none: break
        case .proceed: proceed()
        case .read: read()
        case .linger: linger()
        case .close: close()
        }
    }

    // MARK: Reading, and the end

    /// Asks the channel for bytes, once until it has brought some.
    private func read() {
        guard !isReadWanted else { return }
        isReadWanted = true
        context?.read()
    }

    /// Asks the channel for the bytes of a request. A head has one deadline, however many pieces it
    /// comes in.
    private func read(_ part: ClientDeadline.Step) {
        if deadline.awaited != part { begin(part) }
        read()
    }

    private func begin(_ step: ClientDeadline.Step) {
        guard let context else { return }
        let limit = step == .request && machine.isDraining ? lateRequest : nil
        deadline.begin(step, within: limit, on: context.eventLoop)
    }

    private func close() {
        enter(.closing)
        deadline.stop()
        output.close()
    }

    private func linger() {
        enter(.closing)
        output.closeSending { self.begin(.closing) }
        read()
    }

    private func timeOut(_ step: ClientDeadline.Step) {
        switch step {
        case .request, .closing:
            context?.close(promise: nil)
        case .head, .content:
            switch machine.timeOut() {
            case .refuse(let refusal): refuse(refusal)
            case .failContent(let refusal): failContent(refusal)
            case .close: close()
            }
        }
    }
}

/// Fired through every client's pipeline when the gateway stops.
struct DrainEvent: Sendable {}
