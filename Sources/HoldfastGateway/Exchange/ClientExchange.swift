import EventLoops
import GatewayRouting
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import HoldfastConfiguration
import HoldfastTracing
import NIOCore
import Synchronization

/// One client request, from its head to the end of its response.
///
/// It alone decides how a request is served: from memory, by a disk lookup, by a fetch on the event
/// loop, or by a task. It does not depend on the client's protocol: it takes a head, pulls content
/// from ``RequestContent``, and gives a ``GatewayResponse`` to a ``ClientResponseWriter``.
///
/// ``ExchangeContent`` reads the request's content, and ``ExchangeTask`` does everything that may
/// wait.
///
/// `@unchecked`: it is used only on the client's event loop, except ``inform(_:)`` and
/// ``enterLoop()``, which other threads may use. The list of interim responses has a lock. The
/// exchange's task and the content's reader switch to the event loop before they access anything
/// else.
final class ClientExchange: @unchecked Sendable {
    private enum State {
        case waiting
        /// The head of a stream is written.
        case streaming
        /// The head of a tunnel is written.
        case tunnel
        /// The response is written, or the client has disconnected.
        case over
    }

    let request: GatewayRequest
    let session: ClientSession
    let content: any RequestContent
    let writer: any ClientResponseWriter
    private var state = State.waiting
    private var task: Task<Void, Never>?
    /// The engine's part of the exchange on the event loop; `nil` if the request is not prepared.
    private var attempt: ExchangeAttempt?
    let trace: RequestTrace
    /// The offer to switch to another protocol.
    private var upgrade: UpgradeOffer?
    /// Interim responses that are not written yet.
    ///
    /// From another thread, an interim response and the final response reach the event loop by
    /// different paths, and the final one may arrive first. So interim responses wait here and are
    /// written before any final head. RFC 9110 §15.2
    private let interims = Mutex<[HTTPResponse]>([])
    /// The facts known so far, for metrics and the log.
    var record: ExchangeRecord
    /// Whether the request counts as a client request. Health checks do not.
    private var isRecorded = true
    /// The length of a stream's content, if it is known.
    private var streamLength: StatedLength?
    /// The changes to the response; `nil` if no route was chosen.
    var transforms: ResponseTransforms?
    /// The route for problems; `nil` if no route was chosen.
    var problemRoute: ProblemRoute?
    /// The checks of the request's route, if it has its own.
    var routeChecks: RouteChecks?
    var rangeUse = ExchangeTask.RangeUse.asRequested
    /// The request's key, while the hot table may keep the response for identical requests.
    private(set) var hotKey: HotKey?

    /// - Parameters:
    ///   - trace: the trace to start, unless the request already belongs to one; see
    ///     ``ClientSession/admit(_:at:)``.
    ///   - start: the time when the request's head had arrived.
    ///   - ordinal: the number of the request on its connection.
    ///   - hotKey: the request's key; `nil` if the hot table does not serve such requests.
    init(
        _ request: GatewayRequest,
        of session: ClientSession,
        content: any RequestContent,
        to writer: any ClientResponseWriter,
        in trace: TraceID?,
        since start: NIODeadline = .now(),
        at ordinal: ExchangeRecord.Ordinal? = nil,
        keyed hotKey: HotKey? = nil
    ) {
        let request = session.scope?.scoped(request) ?? session.service.inForce.forwarded(request)
        self.request = request
        self.session = session
        self.content = content
        self.writer = writer
        self.trace = session.service.tracer.map { RequestTrace(request, of: session, $0, drawn: trace) } ?? .none
        record = ExchangeRecord(
            request: request,
            client: session.client,
            route: RouteLabels.none,
            start: start,
            end: start
        )
        record.ordinal = ordinal
        record.span = self.trace.span
        // Requests with a span are not served from the hot table.
        if record.span == nil { self.hotKey = hotKey }
    }

    var eventLoop: any EventLoop { session.executor.eventLoop }

    /// Whether the response is written, or the client has disconnected.
    var isOver: Bool { state == .over }

    /// The current configuration, the details that this client may see, and the request's ID.
    var responseContext: GatewayService.ResponseContext {
        var context = session.responseContext
        context.requestID = record.requestID
        return context
    }

    // MARK: The ways to serve a request

    /// Serves the request. The exchange may be over when this returns.
    ///
    /// - Parameter repeatsFields: whether the fields equal those of the session's last request,
    ///   byte for byte.
    func begin(repeatsFields: Bool = false) {
        // The channel reuses the memory of the request's bytes for the next read.
        defer { hotKey = nil }
        session.telemetry.begin(request.method, of: session.client)
        if !repeatsFields { session.known = nil }
        guard let prepared = session.service.prepare(self) else {
            return serveUnprepared()
        }
        let attempt = session.service.engine.attempt(on: prepared)
        self.attempt = attempt
        switch attempt.begin() {
        case .serve(let hit):
            respond(with: hit, from: .memory)
        case .lookUp(let lookup):
            // A hit from disk is never kept in the hot table.
            hotKey = nil
            lookUp(lookup, for: attempt)
        case .fetch:
            // Requests that can be served immediately come first.
            session.executor.perform { self.fetch(attempt) }
        case .continueInTask:
            startTask(for: .attempt(attempt))
        }
    }

    private func lookUp(_ lookup: StoredLookup, for attempt: ExchangeAttempt) {
        let tasks = session.service.tasks
        tasks.begin()
        let isBegun = session.lookups.begin(lookup) {
            self.receive($0, for: attempt)
            tasks.end()
        }
        if !isBegun {
            startTask(for: .attempt(attempt))
            tasks.end()
        }
    }

    /// Serves a request that is not prepared for the cache. Requests for the gateway itself are
    /// never prepared, so only this function checks for them.
    private func serveUnprepared() {
        if request.isPurge { return purge() }
        let (service, context) = (session.service, responseContext)
        switch context.inForce.ownResponse(to: request, from: session.client) {
        case .health(let check):
            isRecorded = false
            finishLater { await service.healthResponse(check, self.request, context) }
        case .fixed(let choice):
            record.route = context.inForce.fixedRouteLabels[choice.index]
            // The client may send bytes of the other protocol, as after a rejected switch.
            if !request.upgrade.isNone { writer.beginUpgrade() }
            finish(with: service.response(with: choice.route.answer, to: request, context))
        case nil:
            if !request.upgrade.isNone, UpgradeAttempt.serve(self, context) { return }
            startTask(for: .request)
        }
    }

    /// Serves the request from the result of a disk lookup, which is `nil` if the store failed.
    private func receive(_ found: FoundResponses?, for attempt: ExchangeAttempt) {
        guard !isOver else { return }
        switch attempt.proceed(with: found) {
        case .serve(let hit): respond(with: hit, from: .disk)
        case .fetch: fetch(attempt)
        case .lookUp, .continueInTask: startTask(for: .attempt(attempt))
        }
    }

    private func respond(with hit: ImmediateHit, from tier: ExchangeRecord.Tier) {
        session.executor.noteHit()
        record.tier = tier
        finish(hit.response, hit.content, hit)
    }

    /// Fetches a response that is not stored from the origin: on the event loop, or else in a task.
    private func fetch(_ attempt: ExchangeAttempt) {
        guard !isOver else { return }
        let inTurn: ExchangeAttempt.InTurn = { [executor = session.executor] in executor.perform($0) }
        let isBegun = attempt.fetch(mayRelay: true, inTurn: inTurn) { self.receive($0, of: attempt) }
        if !isBegun { startTask(for: .attempt(attempt)) }
    }

    private func receive(_ outcome: ExchangeAttempt.Outcome, of attempt: ExchangeAttempt) {
        guard !isOver else { return }
        switch outcome {
        case .response(let response):
            guard let whole = response.body.whole else { return startTask(for: .response(response)) }
            finish(response, whole)
        case .relayed(let response):
            if transforms?.concerns(response) == true { return finish(CacheResponse(response), response.content) }
            finish(with: .relayed(response, responseContext))
        case .continueInTask:
            startTask(for: .attempt(attempt))
        }
    }

    func startTask(for source: ExchangeTask.Source) {
        startTask { await ExchangeTask(exchange: self).respond(from: source) }
    }

    func startTask(_ body: @escaping @Sendable () async -> Void) {
        let tasks = session.service.tasks
        tasks.begin()
        task = Task(executorPreference: session.executor) {
            defer { tasks.end() }
            await body()
        }
    }

    func startUpgrade(_ attempt: UpgradeAttempt) {
        upgrade = attempt.offer
        startTask(for: .upgrade(attempt))
    }

    /// Moves the exchange's task to the event loop if it is elsewhere. The task calls this function
    /// after every wait.
    ///
    /// - Throws: `CancellationError` if the exchange is over.
    func enterLoop() async throws {
        if !eventLoop.inEventLoop { try await eventLoop.submit {}.get() }
        eventLoop.assertInEventLoop()
        if isOver { throw CancellationError() }
    }

    /// Serves a PURGE.
    private func purge() {
        let (service, context) = (session.service, responseContext)
        guard let client = service.purgingClient(request, from: session.client, context.inForce) else {
            return finish(with: service.purgeRefusal(context))
        }
        finishLater {
            await service.purge(self.request, by: client, from: self.session.client, context.inForce, context)
        }
    }

    /// Writes a response of the gateway itself, which needs a task.
    private func finishLater(_ respond: @escaping @Sendable () async -> GatewayResponse) {
        startTask {
            let response = await respond()
            if (try? await self.enterLoop()) != nil { self.finish(with: response) }
        }
    }

    // MARK: The response

    /// Returns the response to this request if it was rejected or failed.
    func response(to error: any Error, _ context: GatewayService.ResponseContext) -> GatewayResponse {
        session.service.response(to: error, context, of: request, from: session.client, on: problemRoute)
    }

    /// Forwards an interim response, on any thread. On the event loop, it is written before this
    /// returns, because the final response may be written next, in the same round.
    func inform(_ interim: HTTPResponse) {
        // The gateway never requests a protocol switch here.
        guard interim.status.code != 101 else { return }
        let fields = ForwardedFields.ofResponse(interim.headerFields)
        interims.withLock { $0.append(HTTPResponse(status: interim.status, headerFields: fields)) }
        if eventLoop.inEventLoop { return writeInterims() }
        eventLoop.execute { self.writeInterims() }
    }

    private func writeInterims() {
        guard case .waiting = state else { return }
        for var head in interims.withLock({ exchange(&$0, with: []) }) {
            // The ID may belong to another client's request.
            if record.requestID != nil { head.headerFields[.xRequestID] = nil }
            changeFields(&head.headerFields)
            writer.inform(head)
        }
    }

    /// Changes the fields of a response without content for the exchange's client.
    func changeFields(_ fields: inout HTTPFields) {
        _ = transforms?.changeFields(&fields, for: session.client, of: request)
    }

    /// Changes the head of a response for the exchange's client, and decides how its content is
    /// sent.
    func plan(_ head: inout GatewayResponseHead, of response: CacheResponse) -> ResponseTransforms.Plan {
        transforms?.plan(&head, of: response, for: session.admission, request) ?? .unchanged
    }

    /// Writes a response that is in memory. If its content is transformed, and long, a task does
    /// that.
    ///
    /// - Parameter hit: the stored response, if an identical request may get the same bytes.
    private func finish(_ response: CacheResponse, _ whole: ByteBuffer, _ hit: ImmediateHit? = nil) {
        var head = session.service.responseHead(response.head, ExchangeFacts(response), responseContext)
        let plan = plan(&head, of: response)
        let candidate = hit.flatMap {
            session.hotCandidate(hotKey, $0, head, to: request, of: record.route, routeChecks)
        }
        switch plan {
        case .unchanged: return finish(head, whole, candidate)
        case .chain(var chain)
        where whole.readableBytes <= ContentChain.pieceLimit && chain.sendsWhole(whole.readableBytes, isHit: true):
            if let content = try? chain.transform(whole) { return finish(head, content, candidate) }
        case .chain, .partial, .maybePartial: break
        }
        var response = response
        response.body = BodyStream(whole)
        startTask(for: .response(response, candidate))
    }

    /// Writes a response with all its content.
    ///
    /// - Parameter candidate: keeps the response with this content for identical requests.
    func finish(_ head: GatewayResponseHead, _ content: ByteBuffer, _ candidate: HotCandidate? = nil) {
        finish(with: candidate.map { .stored(head, content, $0) } ?? .whole(head, content))
    }

    /// Writes a response with all its content.
    func finish(with response: GatewayResponse) {
        writeInterims()
        record.take(response)
        // Before writing, because the next request may start during the write.
        end()
        writer.respond(with: response)
    }

    /// Writes the head of a response whose content follows in pieces.
    func startStream(_ head: GatewayResponseHead, length: StatedLength?) {
        streamLength = length
        begin(.stream(head, length: length), as: .streaming)
        writer.respond(with: .stream(head, length: length))
    }

    /// Records that the head of a tunnel is written next.
    func beginTunnel(_ head: GatewayResponseHead) {
        begin(.stream(head, length: nil), as: .tunnel)
        upgrade = nil
        task = nil
    }

    private func begin(_ response: GatewayResponse, as next: State) {
        writeInterims()
        state = next
        record.take(response)
        record.firstByte = .now()
    }

    /// Ends the exchange of a tunnel.
    func endTunnel(_ summary: Tunnel.Summary) {
        record.sentBytes = Int(summary.originBytes)
        record.receivedBytes = Int(summary.clientBytes)
        record.tunnelEnding = summary.ending
        end(summary.ending.abort)
    }

    /// Counts content of the request that was delivered.
    func countContent(_ bytes: Int) { record.receivedBytes += bytes }

    /// Writes a piece of a stream's content.
    ///
    /// - Returns: a future that completes when more may be written; `nil` if more may be written
    ///   immediately.
    func write(_ piece: ByteBuffer) -> EventLoopFuture<Void>? {
        record.sentBytes += piece.readableBytes
        return writer.write(piece)
    }

    /// Ends a response whose content was written in pieces.
    func finishStream(_ trailers: HTTPFields?) {
        // The writer does not let a short response look complete.
        let isShort = streamLength.map { StatedLength(clamping: record.sentBytes) < $0 } ?? false
        end(isShort && request.method != .head ? .content : nil)
        writer.finish(trailers != nil && request.acceptsTrailers ? trailers : nil)
    }

    /// Aborts a response whose content was cut short.
    ///
    /// - Parameter error: the reason.
    func abort(after error: any Error) {
        end(error is any StoredContentFailure ? .store : .content)
        writer.abort()
    }

    /// Ends the exchange because the client has disconnected. A fetch that others wait for
    /// continues.
    func cancel() {
        guard !isOver else { return }
        upgrade?.discard()
        let (task, attempt) = (task, attempt)
        // A client that has the whole response may leave before the task ends.
        end(hasSentAll ? nil : .client)
        task?.cancel()
        attempt?.abandon()
    }

    private var hasSentAll: Bool {
        state == .streaming && streamLength == StatedLength(clamping: record.sentBytes)
    }

    private func end(_ abort: ExchangeRecord.Abort? = nil) {
        state = .over
        task = nil
        attempt = nil
        upgrade = nil
        session.telemetry.end(request.method, of: session.client)
        // Drops the cache's request, which refers to this exchange.
        defer { record.facts?.forecastSubject = nil }
        guard isRecorded else { return }
        record.end = .now()
        record.abort = abort
        // One copy for both: each use of a class's property would make one.
        let record = record
        session.telemetry.record(record)
        trace.end(record)
    }
}
