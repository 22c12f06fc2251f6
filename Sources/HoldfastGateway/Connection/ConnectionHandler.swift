import EventLoops
import HTTPCache
import HTTPTypes
import HTTPWire
import HoldfastTracing
import NIOCore
import NIOSSL

/// One client's HTTP/1 connection. It performs the decisions of ``ConnectionMachine``: it reads,
/// starts a ``ClientExchange`` for each request, and enforces the client's deadlines.
///
/// ``HTTP1ResponseWriter`` writes the responses. Everything runs on the channel's event loop.
final class ConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler, RequestContent {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let service: GatewayService
    private let client: ClientAddress
    /// `nil` without TLS. The handshake is complete.
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
    /// The state that telemetry counts; `nil` before the channel is active and after it has ended.
    /// An immediate response does not change it.
    private var state: ConnectionState?
    private let number = ConnectionNumber.next()
    /// The number of requests received, including invalid ones.
    private var requestCount: Int64 = 0
    /// The piece of content that the exchange is waiting for, and the time since which it waits.
    private var content: EventLoopPromise<ContentDecoder.Event>?
    private var contentWantedAt = NIODeadline.now()
    private var pace: UploadPace
    private let deadline: ClientDeadline
    private let lateRequest: TimeAmount
    /// Whether the channel was asked to read and has not delivered bytes since.
    private var isReadWanted = false
    private var isProceeding = false
    private var mustProceed = false
    /// The time when the bytes arrived that the channel is delivering; `nil` between deliveries.
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
        writer = HTTP1ResponseWriter(service: service, eventLoop: loop.eventLoop, output: output)
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
        // The time for the first request is shorter now. If the channel is not active yet, its
        // deadline starts later.
        case .awaitRequest: if deadline.awaited == .request { begin(.request) }
        case .close: close()
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, output.resume() { proceed() }
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
        guard mode == .all, exchange != nil else { return context.close(mode: mode, promise: promise) }
        output.breakOff(promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    /// Cancels the exchange and releases everything, because the connection has ended or another
    /// handler takes over.
    private func end() {
        enter(nil)
        machine.close()
        deadline.release()
        exchange.take()?.cancel()
        content.take()?.fail(CancellationError())
        output.release()
    }

    // MARK: Requests

    /// Serves the requests that have arrived, one after the other, while their responses are
    /// available immediately.
    private func proceed() {
        mustProceed = true
        // An immediate response calls this again. It continues with the loop's next iteration
        // instead of recursing.
        guard !isProceeding else { return }
        isProceeding = true
        while mustProceed, !output.isHeldBack {
            mustProceed = false
            guard let head = machine.wholeHead else {
                beginRequest(in: session.drawTrace())
                continue
            }
            let trace = session.drawTrace()
            let key = trace == nil ? session.hotKey(of: head) : nil
            if let key, let response = session.respondHot(to: key, since: readAt ?? .now(), at: nextOrdinal) {
                writer.write(response)
                deadline.stop()
                requestCount += 1
                machine.skipRequest(head)
                mustProceed = true
            } else {
                beginRequest(in: trace, keyed: key)
            }
        }
        isProceeding = false
        output.flushSoon()
    }

    /// - Parameters:
    ///   - trace: evaluated only if a request has arrived.
    ///   - key: the request's key, if the hot table may keep its response.
    private func beginRequest(in trace: @autoclosure () -> TraceID?, keyed key: HotKey? = nil) {
        switch machine.beginRequest() {
        case .none: break
        case .begin(let head, let repeatsFields): begin(head, repeatsFields: repeatsFields, in: trace(), keyed: key)
        case .refuse(let refusal): refuse(refusal)
        case .waitForRequest: read(.request)
        case .waitForHead: read(.head)
        case .close: close()
        case .changeProtocol(let bytes): beginHTTP2(with: bytes)
        }
    }

    /// Hands the connection over to the HTTP/2 handler.
    ///
    /// - Parameter bytes: the bytes that the client has sent so far.
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
        // During a read, the new handler sees the end of the read anyway.
        if !isReading { connection.endReading() }
    }

    /// Prepares for a switch to another protocol: the current request may be the last HTTP request
    /// on this connection.
    func beginUpgrade() { machine.beginUpgrade() }

    /// Hands the connection over to a tunnel for another protocol, after the response's head is
    /// written.
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

    private func begin(_ head: RequestHead, repeatsFields: Bool, in trace: TraceID?, keyed key: HotKey?) {
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
            at: ordinal,
            keyed: key
        )
        self.exchange = exchange
        exchange.begin(repeatsFields: repeatsFields)
        guard !exchange.isOver else { return }
        enter(.active)
        // Keeps reading while this request is served. Otherwise the kernel would be told to stop
        // watching the connection, and to resume a moment later. Reading also detects a client that
        // disconnects.
        if !head.hasContent { read() }
    }

    /// Responds to bytes that are not a valid request. Such bytes have no exchange.
    private func refuse(_ refusal: MessageRefusal) {
        deadline.stop()
        writer.begin(nil)
        let ordinal = nextOrdinal
        requestCount += 1
        writer.respond(with: session.refuse(refusal, since: readAt ?? .now(), at: ordinal))
    }

    // MARK: The exchange

    var isSecure: Bool { tls != nil }

    /// The number of the next request on this connection.
    private var nextOrdinal: ExchangeRecord.Ordinal {
        ExchangeRecord.Ordinal(connection: number, request: requestCount + 1)
    }

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

    /// Ends the exchange after its response is written.
    ///
    /// - Parameter keepingAlive: the value that the response's head announced.
    func endResponse(keepingAlive: Bool) {
        exchange = nil
        if state == .active { enter(.idle) }
        content.take()?.fail(CancellationError())
        let action = machine.endResponse(keepingAlive: keepingAlive)
        // The rest of the content is dropped. All of it has one deadline.
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

    /// Asks the channel to read, unless a read is already pending.
    private func read() {
        guard !isReadWanted else { return }
        isReadWanted = true
        context?.read()
    }

    /// Asks the channel for bytes of a request. A head has one deadline, however many pieces it
    /// arrives in.
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
