import EventLoops
import HTTPCache
import HTTPTypes
import HTTPWire
import NIOCore

/// The requests on a client's HTTP/1 connection, served one after the other. It performs the
/// decisions of ``ConnectionMachine``: it has each request admitted, and starts a
/// ``ClientExchange`` for each request that the hot table does not serve.
///
/// ``ClientReads`` reads and enforces the client's deadlines, ``HTTP1RequestContent`` delivers
/// content to exchanges, and ``HTTP1ResponseWriter`` writes the responses. Used on the connection's
/// event loop.
final class RequestSequence {
    private let service: GatewayService
    private let loop: ServingLoop
    private let output: ConnectionOutput
    private let reads: ClientReads
    private var machine: ConnectionMachine
    // After the machine, where they need no more memory.
    private var isProceeding = false
    private var mustProceed = false
    /// `nil` before the connection opens and after it ends.
    private var handler: ConnectionHandler?
    private var sessionState: SessionState
    /// Both are created with the first request that the hot table does not serve.
    private var knownContent: HTTP1RequestContent?
    private var knownWriter: HTTP1ResponseWriter?
    private var exchange: ClientExchange?
    private var counted: CountedConnection
    private let number = ConnectionNumber.next()
    /// The number of requests received, including invalid ones.
    private var requestCount: Int64 = 0

    /// The client's session. It is created with the first request, and replaces the closure that
    /// creates it, because an idle connection should need little memory.
    private enum SessionState {
        case planned(() -> ClientSession)
        case made(ClientSession)
    }

    init(
        service: GatewayService,
        loop: ServingLoop,
        acceptsHTTP2: Bool,
        _ reads: ClientReads,
        _ output: ConnectionOutput,
        _ makeSession: @escaping () -> ClientSession
    ) {
        self.service = service
        self.loop = loop
        sessionState = .planned(makeSession)
        self.reads = reads
        self.output = output
        counted = CountedConnection(loop.telemetry.value)
        let configuration = service.configuration
        machine = ConnectionMachine(
            limits: configuration.messageLimits,
            discardLimit: configuration.discardedContentLimit,
            acceptsHTTP2: acceptsHTTP2
        )
    }

    // MARK: The connection

    func open(_ handler: ConnectionHandler) { self.handler = handler }

    /// Starts waiting for requests, because the channel is active.
    func connect() {
        guard reads.awaited == nil else { return }
        counted.begin()
        proceed()
    }

    func receive(_ bytes: ByteBuffer) {
        switch machine.receive(bytes) {
        case .next(let action): perform(action)
        case .content(let action): content.perform(action)
        }
    }

    /// Handles the end of the client's input.
    func closeInput() {
        switch machine.closeInput() {
        case .none: break
        case .proceed: proceed()
        case .failContent(let refusal): content.fail(refusal)
        case .close: close()
        }
    }

    /// Begins the shutdown.
    func drain() {
        let action = machine.drain()
        reads.drain()
        if case .close = action { close() }
    }

    var isDraining: Bool { machine.isDraining }
    var isInputClosed: Bool { machine.isInputClosed }
    /// Whether a request is being served.
    var isServing: Bool { exchange != nil }

    /// Cancels the exchange and releases the channel, because the connection has ended or another
    /// handler takes over.
    func end() {
        counted.enter(nil)
        machine.close()
        reads.release()
        exchange.take()?.cancel()
        knownContent?.end()
        output.release()
    }

    /// Releases the handler, after the end.
    func release() {
        knownContent?.requests = nil
        knownWriter?.requests = nil
        handler = nil
    }

    // MARK: The parts that requests create

    private var session: ClientSession {
        switch sessionState {
        case .made(let session):
            return session
        case .planned(let make):
            let session = make()
            sessionState = .made(session)
            return session
        }
    }

    private var content: HTTP1RequestContent {
        if let knownContent { return knownContent }
        let content = HTTP1RequestContent(service: service, on: loop.eventLoop, reads, output)
        // Nothing would release the reference after the end, when there is no handler.
        if handler != nil { content.requests = self }
        knownContent = content
        return content
    }

    private var writer: HTTP1ResponseWriter {
        if let knownWriter { return knownWriter }
        let writer = HTTP1ResponseWriter(service: service, eventLoop: loop.eventLoop, output: output)
        if handler != nil { writer.requests = self }
        knownWriter = writer
        return writer
    }

    // MARK: Requests

    /// Serves the requests that have arrived, one after the other, while their responses are
    /// available immediately.
    func proceed() {
        mustProceed = true
        // An immediate response calls this again. It continues with the loop's next iteration
        // instead of recursing.
        guard !isProceeding else { return }
        isProceeding = true
        while mustProceed, !output.isHeldBack {
            mustProceed = false
            // A hot response has no 'Connection: close'.
            guard !isEnding, let head = machine.wholeHead else {
                beginRequest(session.admit(nil, at: reads.now))
                continue
            }
            let session = session
            let admission = session.admit(head, at: reads.now)
            if case .hot(let key) = admission,
                let response = session.respondHot(to: key, since: reads.now, at: nextOrdinal)
            {
                write(response)
                reads.stop()
                requestCount += 1
                machine.skipRequest(head)
                mustProceed = true
            } else {
                beginRequest(admission)
            }
        }
        isProceeding = false
        output.flushSoon()
    }

    /// Writes a response of the hot table.
    private func write(_ response: HotResponse) {
        output.put(response.bytes)
        if let rest = response.rest { output.put(rest) }
        output.holdBack()
    }

    /// - Parameter admission: evaluated only if a request has arrived.
    private func beginRequest(_ admission: @autoclosure () -> RequestAdmission) {
        switch machine.beginRequest() {
        case .none: break
        case .begin(let head, let repeatsFields): begin(head, repeatsFields: repeatsFields, admission())
        case .refuse(let refusal): refuse(refusal)
        case .waitForRequest: reads.read(.request)
        case .waitForHead: reads.read(.head)
        case .close: close()
        case .changeProtocol(let bytes): handler?.beginHTTP2(session, number, with: bytes)
        }
    }

    private func begin(_ head: RequestHead, repeatsFields: Bool, _ admission: RequestAdmission) {
        reads.stop()
        let (content, writer) = (content, writer)
        if head.hasContent { content.begin() }
        writer.begin(head)
        let ordinal = nextOrdinal
        requestCount += 1
        let exchange = ClientExchange(
            head.request,
            of: session,
            content: content,
            to: writer,
            in: admission.trace,
            since: reads.now,
            at: ordinal,
            keyed: admission.hotKey
        )
        self.exchange = exchange
        exchange.begin(admission, repeatsFields: repeatsFields)
        guard !exchange.isOver else { return }
        counted.enter(.active)
        // Keeps reading while this request is served. Otherwise the kernel would be told to stop
        // watching the connection, and to resume a moment later. Reading also detects a client that
        // disconnects.
        if !head.hasContent { reads.read() }
    }

    /// Responds to bytes that are not a valid request. Such bytes have no exchange.
    private func refuse(_ refusal: MessageRefusal) {
        reads.stop()
        let writer = writer
        writer.begin(nil)
        let ordinal = nextOrdinal
        requestCount += 1
        writer.respond(with: session.refuse(refusal, since: reads.now, at: ordinal))
    }

    // MARK: The exchange

    /// The number of the next request on this connection.
    var nextOrdinal: ExchangeRecord.Ordinal { ExchangeRecord.Ordinal(connection: number, request: requestCount + 1) }

    /// Whether the connection stays open after the current response.
    var isKeptAlive: Bool { machine.isKeptAlive && !isEnding }

    private var isEnding: Bool { service.admission.connections.isEnding }

    /// Decides how the exchange gets the next piece of its content.
    func wantContent() -> ConnectionMachine.ContentAction { machine.wantContent() }

    func discardContent() {
        if machine.discardContent() { reads.read() }
    }

    func countContent(_ bytes: Int) { exchange?.countContent(bytes) }

    /// Prepares for a switch to another protocol: the current request may be the last HTTP request
    /// on this connection.
    func beginUpgrade() { machine.beginUpgrade() }

    /// Hands the connection over to a tunnel for another protocol, after the response's head is
    /// written.
    func beginTunnel(_ tunnel: Tunnel, _ origin: TunnelOrigin, _ permit: SharedPermits.Permit) {
        // The tunnel ends the exchange.
        exchange = nil
        guard let handler else {
            origin.channel.close(promise: nil)
            return tunnel.endFromOutside()
        }
        let bytes = machine.switchProtocol()
        let patience = service.configuration.timeouts.write.timeAmount
        let end = TunnelChannelEnd(.client, of: tunnel, permit, patience: patience, loop.telemetry.value)
        handler.begin(tunnel, end, with: bytes, origin)
    }

    /// Ends the exchange after its response is written.
    ///
    /// - Parameter keepingAlive: the value that the response's head announced.
    func endResponse(keepingAlive: Bool) {
        exchange = nil
        if counted.state == .active { counted.enter(.idle) }
        knownContent?.end()
        let action = machine.endResponse(keepingAlive: keepingAlive)
        // The rest of the content is dropped. All of it has one deadline.
        if case .read = action, reads.awaited == nil { reads.expect(.content) }
        perform(action)
    }

    private func perform(_ action: ConnectionMachine.NextAction) {
        switch action {
        case .none: break
        case .proceed: proceed()
        case .read: reads.read()
        case .linger: linger()
        case .close: close()
        }
    }

    // MARK: The end

    private func close() {
        counted.enter(.closing)
        reads.stop()
        output.close()
    }

    private func linger() {
        counted.enter(.closing)
        output.closeSending { self.reads.expect(.closing) }
        reads.read()
    }

    func timeOut(_ step: ClientReads.Step) {
        switch step {
        case .request, .closing:
            handler?.disconnect()
        case .head, .content:
            switch machine.timeOut() {
            case .refuse(let refusal): refuse(refusal)
            case .failContent(let refusal): content.fail(refusal)
            case .close: close()
            }
        }
    }
}
