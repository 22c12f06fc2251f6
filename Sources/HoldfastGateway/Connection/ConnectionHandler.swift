import HTTPCache
import HTTPTypes
import Logging
import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// One client's HTTP/1 connection: performs what ``ConnectionMachine`` decides, and takes the
/// answers of its exchanges.
///
/// Everything here runs on the channel's event loop. An exchange runs in a task of its own and
/// comes back through ``ExchangeLink``.
final class ConnectionHandler: ChannelInboundHandler, Flushing {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What a client owes.
    private enum Waiting {
        /// A request's first byte.
        case request
        /// The rest of a request's head.
        case head
        case content
        case closing
    }

    private let service: GatewayService
    private let times: ClientTimes
    /// The loop's answers from memory.
    private let hot: HotTable
    /// Where exchanges run.
    private let executor: LoopExecutor
    /// What looks up what is not in memory.
    private let lookups: DiskLookups
    private let round: LoopRound
    private var machine: ConnectionMachine
    private var context: ChannelHandlerContext?
    private lazy var client = GatewayClient(address: context?.remoteAddress?.ipAddress)
    private var task: Task<Void, Never>?
    /// The present exchange, as long as it needs no task.
    private var direct: DirectFetch?
    private var request: RequestHead?
    /// What was made of the last request, for the next if that has the same fields.
    private var known: GatewayService.KnownRequest?
    /// How the present answer's content is delimited; `nil` until it begins.
    private var framing: ResponseFraming?
    private var content: EventLoopPromise<ByteBuffer?>?
    /// For the present request's content, and since when its next bytes are waited for.
    private var pace: UploadPace
    private var contentWantedAt = NIODeadline.now()
    private var writability: EventLoopPromise<Void>?
    /// For what the client owes, and for what it does not take.
    private let deadline = Deadline()
    private var waiting: Waiting?
    private let writeDeadline = WriteDeadline()
    private let writer = SocketWriter()
    private var isFlushScheduled = false
    /// The channel hands over what it has read: what is written is flushed when that is done.
    private var isReading = false
    /// The channel was asked for bytes, and has brought none since.
    private var isReadWanted = false
    private var isProceeding = false
    private var mustProceed = false
    /// The connection ends when what is written has been taken.
    private var isClosing = false
    /// The client does not take its answers: the next request waits.
    private var isHeldBack = false
    /// The present request's head, byte for byte, and their hash.
    private var present: (bytes: ByteBuffer, hash: Int)?
    /// Tells the present exchange from those before it, whose tasks may still be about.
    private var number: UInt64 = 0
    /// Those that are to be written before the next final head.
    let interims = InterimResponses()

    init(service: GatewayService, hot: HotTable, executor: LoopExecutor, lookups: DiskLookups, round: LoopRound) {
        self.round = round
        self.executor = executor
        self.lookups = lookups
        self.service = service
        self.hot = hot
        self.times = ClientTimes(service.configuration.timeouts)
        self.pace = UploadPace(rate: service.configuration.uploadRate, patience: times.slowContent)
        self.machine = ConnectionMachine(
            limits: service.configuration.messageLimits,
            discardLimit: service.configuration.discardedContentLimit
        )
    }

    // MARK: The channel's events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        writer.open(context.channel)
        deadline.whenPassed { [unowned self] in if let waiting { passed(waiting) } }
        if context.channel.isActive { connected() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        ended()
        self.context = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        connected()
        context.fireChannelActive()
    }

    private func connected() {
        guard waiting == nil else { return }
        proceed()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isReading = true
        isReadWanted = false
        perform(machine.received(unwrapInboundIn(data)))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        flush()
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed: perform(machine.inputClosed())
        case is DrainEvent: perform(machine.drain())
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            // Of an answer that ends the connection, the rest is still to be taken.
            if isClosing { waitForWritability() } else { writeDeadline.stop() }
            writability.take()?.succeed()
            if isHeldBack {
                isHeldBack = false
                proceed()
            }
        }
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        ended()
        context.fireChannelInactive()
    }

    /// The client has gone: its exchange ends, and nobody else's.
    private func ended() {
        machine.closed()
        stopWaiting()
        deadline.release()
        writeDeadline.release()
        writer.release()
        isHeldBack = false
        number += 1
        task?.cancel()
        task = nil
        direct.take()?.abandon()
        content.take()?.fail(CancellationError())
        writability.take()?.fail(CancellationError())
    }

    // MARK: Actions

    private func perform(_ action: ConnectionMachine.Action) {
        switch action {
        case .none:
            break
        case .proceed:
            proceed()
        case .read:
            if machine.isIdle {
                // A head has one deadline, however many pieces it comes in.
                let owed = machine.isBetweenRequests ? Waiting.request : .head
                if waiting != owed { wait(for: owed) }
            } else if machine.isDiscardingBehindAnswer, waiting == nil {
                // One deadline for all of it: what nobody wants is worth no more.
                wait(for: .content)
            }
            read()
        case .begin(let head):
            begin(head)
        case .sayContinue:
            writeAndFlush(Self.continueHead)
            read()
        case .content(let bytes):
            stopWaiting()
            if let bytes { pace.received(bytes.readableBytes, after: .now() - contentWantedAt) }
            content.take()?.succeed(bytes)
        case .contentFailed(let refusal):
            stopWaiting()
            content.take()?.fail(refusal)
        case .refuse(let refusal):
            refuse(refusal)
        case .linger:
            flush()
            closeLingering()
        case .close:
            stopWaiting()
            closeWhenTaken()
        }
    }

    private static let continueHead = ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")

    /// Takes the requests that have come, one after the other, as long as they are answered at
    /// once.
    private func proceed() {
        mustProceed = true
        // A request that is answered at once leads here again: it is the loop's next round and not
        // one call deeper.
        guard !isProceeding else { return }
        isProceeding = true
        while mustProceed, !isHeldBack {
            mustProceed = false
            present = nil
            if let head = machine.wholeHead {
                let hash = HotTable.hash(head)
                if answerHot(head, hash) {
                    mustProceed = true
                    continue
                }
                present = (head, hash)
            }
            perform(machine.nextRequest())
        }
        isProceeding = false
        flushSoon()
    }

    /// Answers a request that was answered before with the same bytes, where that holds still.
    private func answerHot(_ head: ByteBuffer, _ hash: Int) -> Bool {
        guard let answer = hot.response(to: head, hash: hash) else { return false }
        guard let bytes = answer.bytes(at: service.engine.now, service.engine) else {
            hot.forget(answer)
            return false
        }
        hot.responseCount += 1
        executor.noteHit()
        stopWaiting()
        machine.answeredAtOnce(head)
        put(bytes)
        if let rest = answer.rest { put(rest) }
        holdBack()
        return true
    }

    /// Answers without a task of its own.
    ///
    /// - Parameter isResident: from memory, where the next request of the same bytes finds the
    ///   same.
    private func answer(with answer: GatewayService.ResidentResponse, isResident: Bool) {
        executor.noteHit()
        let framing = frame(answer.head.response.status.code, length: answer.head.length)
        put(isResident ? storedHead(answer, framing) : framing.bytes(of: answer.head))
        finish(with: answer.hit.content)
    }

    /// The bytes of a stored response's head. The response is kept for the next request of the same
    /// bytes if that gets the same.
    private func storedHead(_ answer: GatewayService.ResidentResponse, _ framing: ResponseFraming) -> ByteBuffer {
        guard let present, let request, request.minorVersion > 0, machine.isKeptAlive,
            service.suitsEveryClient(answer.hit), hot.markSeen(hash: present.hash)
        else { return framing.bytes(of: answer.head) }
        let (bytes, places) = framing.bytesAndPlaces(of: answer.head)
        let response = HotResponse(
            request: present.bytes,
            hash: present.hash,
            head: bytes,
            places: places,
            hit: answer.hit,
            method: request.method
        )
        if let response { hot.keep(response) }
        return bytes
    }

    /// Lets the next request wait where the client does not take what is written.
    private func holdBack() {
        guard let context, !context.channel.isWritable else { return }
        flush()
        guard !context.channel.isWritable, context.channel.isActive else { return }
        isHeldBack = true
        waitForWritability()
    }

    /// Takes what comes next already while this request is answered, one piece of it: the system is
    /// then not told to watch the connection less, and a moment later more. It is also how a client
    /// that goes away is noticed.
    private func readAhead() { read() }

    /// Asks the channel for bytes, once until it has brought some.
    private func read() {
        guard !isReadWanted else { return }
        isReadWanted = true
        context?.read()
    }

    private func begin(_ head: RequestHead) {
        guard let context else { return }
        stopWaiting()
        number += 1
        request = head
        framing = nil
        if head.hasContent { pace = UploadPace(rate: service.configuration.uploadRate, patience: times.slowContent) }
        let link = ExchangeLink(handler: self, number: number, eventLoop: context.eventLoop, executor: executor)
        let service = service
        let client = client
        if !machine.isHeadRepeated { known = nil }
        let prepared = service.prepare(head, from: client, link, like: &known)
        let search = prepared.map { service.residentResponse($0, for: client) }
        if case .response(let answer)? = search { return self.answer(with: answer, isResident: true) }
        // The channel reads into the same bytes again where nobody holds them.
        present = nil
        if !head.hasContent { readAhead() }
        switch (search, prepared) {
        case (.unknown(let lookup), let prepared?):
            let start = lookup.start
            let isBegun = lookups.begin(lookup) { found in
                link.ifPresent { $0.lookedUp(found, since: start, prepared, link) }
            }
            if !isBegun { beginExchange(prepared, link) }
        case (.nothing(let start), let prepared?):
            // In its turn: requests that are answered at once come first.
            executor.perform {
                link.ifPresent { if !$0.fetch(prepared, since: start, link) { $0.beginExchange(prepared, link) } }
            }
        default:
            beginExchange(prepared, link)
        }
    }

    /// Answers with what is stored, if that is all there is to it.
    private func lookedUp(
        _ found: FoundResponses?,
        since start: LookupStart,
        _ prepared: PreparedRequest,
        _ link: ExchangeLink
    ) {
        if found?.isNothing == true, fetch(prepared, since: start, link) { return }
        guard let found, let answer = service.storedResponse(prepared, found, for: client) else {
            return beginExchange(prepared, link)
        }
        self.answer(with: answer, isResident: false)
        flushSoon()
    }

    /// Asks the origin for what is not stored; `false` where an exchange has to see to it.
    private func fetch(_ prepared: PreparedRequest, since start: LookupStart, _ link: ExchangeLink) -> Bool {
        let inTurn: DirectFetch.InTurn = { [executor] in executor.perform($0) }
        let fetch = service.engine.fetchDirectly(prepared, since: start, mayRelay: true, inTurn: inTurn) { outcome in
            link.ifPresent { $0.fetched(outcome, link) }
        }
        guard let fetch else { return false }
        // It may be over already, and the connection at its next exchange.
        link.ifPresent { if $0.task == nil { $0.direct = fetch } }
        return true
    }

    private func fetched(_ outcome: DirectFetch.Outcome, _ link: ExchangeLink) {
        direct = nil
        let (service, client) = (service, client)
        switch outcome {
        case .answered(let response):
            if let whole = service.wholeResponse(response, for: client) { return answer(whole.head, whole.content) }
            task = Task(executorPreference: executor) { await service.sendResponse(response, for: client, to: link) }
        case .relayed(let response):
            relay(response)
        case .goesOn(let direct):
            task = Task(executorPreference: executor) { await service.finishFetch(direct, for: client, to: link) }
        }
    }

    private func beginExchange(_ prepared: PreparedRequest?, _ link: ExchangeLink) {
        guard let head = request else { return }
        let service = service
        let client = client
        task = Task(executorPreference: executor) {
            await service.serve(head, from: client, content: link.content(of: head), prepared: prepared, to: link)
        }
    }

    /// A refusal is answered here and not by the service: there is no request to have an exchange
    /// about.
    private func refuse(_ refusal: MessageRefusal) {
        stopWaiting()
        number += 1
        request = nil
        framing = nil
        let answer = service.problemResponse(to: refusal)
        start(answer.head)
        _ = write(answer.body)
        finish()
    }

    /// Closes when the system has taken all that is written: what it has not would be lost with the
    /// connection.
    private func closeWhenTaken() {
        guard let context else { return }
        isClosing = true
        writer.flush(context)
        // Behind all the others.
        let taken = context.eventLoop.makePromise(of: Void.self)
        taken.futureResult.assumeIsolated().whenComplete { _ in self.context?.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: taken)
        // Where the client is slow, it has as long as for any other bytes.
        if self.context?.channel.isActive == true { waitForWritability() }
    }

    /// RFC 9112 §9.6: closing while bytes of the client are unread would reset the connection, and
    /// lose the answer.
    private func closeLingering() {
        guard let context else { return }
        isClosing = true
        waitForWritability()
        let shut = context.eventLoop.makePromise(of: Void.self)
        // What is written is taken first; only then it is the client's turn.
        shut.futureResult.assumeIsolated().whenSuccess { _ in
            self.writeDeadline.stop()
            self.wait(for: .closing)
        }
        context.close(mode: .output, promise: shut)
        read()
    }

    // MARK: The exchange's doings, by way of its link

    func isPresent(_ number: UInt64) -> Bool { self.number == number && context != nil }

    func nextContent() -> EventLoopFuture<ByteBuffer?>? {
        guard let context, content == nil else { return nil }
        let promise = context.eventLoop.makePromise(of: ByteBuffer?.self)
        content = promise
        contentWantedAt = .now()
        wait(for: .content)
        perform(machine.contentWanted())
        return promise.futureResult
    }

    func discardContent() {
        perform(machine.discardContent())
    }

    /// Writes the present exchange's interim responses that have come. RFC 9110 §15.2
    func writeInterims() {
        for head in interims.take(of: number) {
            guard framing == nil, let request, request.minorVersion > 0, head.status.code != 101 else { continue }
            writeAndFlush(
                .head { bytes in
                    bytes.writeStatusLine(head.status)
                    // RFC 9110 §8.6: no length in what has no content.
                    bytes.writeFields(head.headerFields) { $0 != "content-length" }
                    bytes.writeEndOfHead()
                }
            )
        }
    }

    /// Writes the head with the fields that delimit what follows. RFC 9112 §6
    func start(_ head: GatewayResponseHead) {
        put(announce(head, length: head.length))
        flushSoon()
    }

    /// Writes a whole answer.
    func answer(_ head: GatewayResponseHead, _ content: ByteBuffer) {
        put(announce(head, length: Int64(content.readableBytes)))
        finish(with: content)
        flushSoon()
    }

    /// Writes a whole answer as it came.
    private func relay(_ response: RelayedResponse) {
        let framing = frame(response.status, length: Int64(response.contentLength))
        let content = response.content
        let isShort = content.readableBytes <= RelayedResponse.shortContent
        put(service.bytes(of: response, for: client, framing, content: isShort ? content : nil))
        if let bytes = try? self.framing?.bytes(of: content), !isShort { put(bytes) }
        holdBack()
        finish()
        flushSoon()
    }

    /// Writes the content of an answer whose length was announced, and ends it.
    private func finish(with content: ByteBuffer) {
        if let bytes = try? framing?.bytes(of: content) { put(bytes) }
        holdBack()
        finish()
    }

    /// The bytes of the present answer's head.
    private func announce(_ head: GatewayResponseHead, length: Int64?) -> ByteBuffer {
        frame(head.response.status.code, length: length).bytes(of: head)
    }

    /// Settles how the present answer's content is delimited. Every final response comes by here.
    private func frame(_ code: Int, length: Int64?) -> ResponseFraming {
        writeInterims()
        let framing = ResponseFraming(
            code,
            to: request?.method,
            minorVersion: request?.minorVersion ?? 1,
            length: length,
            isKeptAlive: machine.isKeptAlive
        )
        self.framing = framing
        return framing
    }

    /// - Returns: when more may be written; `nil` at once.
    func write(_ content: ByteBuffer) -> EventLoopFuture<Void>? {
        do throws(ResponseFraming.Overrun) {
            guard let bytes = try framing?.bytes(of: content) else { return nil }
            put(bytes)
        } catch {
            abort()
            return context?.eventLoop.makeFailedFuture(CancellationError())
        }
        guard let context, !context.channel.isWritable else {
            flushSoon()
            return nil
        }
        flush()
        guard !context.channel.isWritable, context.channel.isActive else { return nil }
        if let writability { return writability.futureResult }
        let promise = context.eventLoop.makePromise(of: Void.self)
        writability = promise
        waitForWritability()
        return promise.futureResult
    }

    private func waitForWritability() {
        if let context { writeDeadline.begin(times.write, on: context.channel) }
    }

    func finish() {
        if framing?.isComplete == false { return abort() }
        if let end = framing?.end { put(end) }
        let closes = framing?.closes ?? false
        task = nil
        request = nil
        framing = nil
        number += 1
        content.take()?.fail(CancellationError())
        perform(machine.answered(keepingAlive: !closes))
    }

    /// Ends the connection so that the client cannot take what it got for the whole. RFC 9112 §8
    func abort() {
        guard let context else { return }
        flush()
        if framing?.endsWithConnection == true {
            // Where the end of the connection is the end of the content, only a reset says that it
            // is not.
            _ = (context.channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        }
        context.close(promise: nil)
    }

    private func writeAndFlush(_ bytes: ByteBuffer) {
        writer.put(bytes)
        flush()
    }

    private func put(_ bytes: ByteBuffer) {
        writer.put(bytes)
        // Else many answers in one round would wait for its end, and nobody see that the client
        // does not take them.
        if writer.pendingCount > Self.pendingLimit, let context { writer.flush(context) }
    }

    /// Bytes that wait for the end of the loop's round.
    private static let pendingLimit = 64 << 10

    /// Flushes when the loop's present round is over: what comes until then goes with it, the end
    /// of the answer often.
    private func flushSoon() {
        guard writer.pendingCount > 0, !isReading, !isFlushScheduled else { return }
        isFlushScheduled = true
        round.flush(self)
    }

    func flush() {
        isFlushScheduled = false
        if let context { writer.flush(context) }
    }

    // MARK: Deadlines

    private func wait(for waiting: Waiting) {
        guard let context else { return }
        self.waiting = waiting
        let time: TimeAmount =
            switch waiting {
            case .request: times.request
            case .head: times.head
            case .content: content == nil ? times.content : min(times.content, pace.allowance ?? times.content)
            case .closing: times.closing
            }
        deadline.set(.now() + time, on: context.eventLoop)
    }

    private func stopWaiting() {
        deadline.stop()
        waiting = nil
    }

    private func passed(_ waiting: Waiting) {
        switch waiting {
        case .head, .content:
            perform(machine.timedOut())
        case .request, .closing:
            context?.close(promise: nil)
        }
    }
}

/// Fired through every client's pipeline when the gateway stops.
struct DrainEvent: Sendable {}
