import HTTPCache
import HTTPTypes
import NIOCore
import NIOSSL

/// One connection to an origin, with one exchange at a time. Everything here runs on the channel's
/// event loop.
///
/// It reads only as much as is needed: the head, and then the content as far as it is pulled. While
/// it waits for its next request it reads, so that it notices if the origin closes the connection
/// or sends bytes that belong to no request.
final class OriginConnectionHandler: ChannelInboundHandler, Flushing {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// It is a class, so that it is changed in place. A copy of the decoder would make its buffers
    /// copy when they grow.
    private final class Exchange {
        let number: UInt64
        var decoder: ResponseDecoder
        /// The call that waits for the head; `nil` once the head was delivered.
        var caller: OriginCall?
        /// The promise of a caller that waits for content; `nil` if none does.
        var piece: EventLoopPromise<OriginPiece>?
        var isUploaded: Bool
        let hasContent: Bool
        var hasResponseBegun = false
        /// The timeouts of the exchange.
        var wait: OriginWait
        /// The bytes that the origin's system had not confirmed when the current timeout began.
        var untaken = 0
        /// The time by which the head must have come, while that timeout runs.
        var headEnd: NIODeadline?
        /// The same for a request without content. It runs from the beginning of the call.
        let earlyHeadEnd: NIODeadline?
        var isKeptAlive = false
        /// Set when the head has come, unless the response is relayed and so cannot be stored.
        var boundary: MessageBoundary?
        let mayBeRelayed: Bool
        /// See ``OriginRequest/headTime``.
        let headTime: TimeAmount?
        /// Content that is decoded but not asked for yet.
        var ahead: ByteBuffer?
        /// Whether the response has ended, and no caller has asked for more yet.
        var isEnded = false
        /// The failure that the next caller gets.
        var failure: OriginFailure?

        init(_ number: UInt64, _ request: OriginRequest, limits: MessageLimits, for call: OriginCall) {
            self.number = number
            decoder = ResponseDecoder(method: request.method, limits: limits)
            caller = call
            hasContent = request.body != nil
            isUploaded = !hasContent
            wait = OriginWait(hasContent: hasContent)
            headTime = request.headTime
            earlyHeadEnd = request.body == nil ? request.connectEnd : nil
            mayBeRelayed = request.mayBeRelayed
        }
    }

    private let endpoint: OriginEndpoint
    private let configuration: OriginTransport.Configuration
    private let pool: OriginPool
    private let eventLoop: any EventLoop
    private var context: ChannelHandlerContext?
    /// The connection as exchanges use it; `nil` outside of a pipeline.
    private(set) var connection: OriginConnection?
    private var exchange: Exchange?
    private var writability: EventLoopPromise<Void>?
    private let round: LoopRound
    private let writer = SocketWriter()
    private var peek = SocketPeek()
    /// The boundary of the previous response, until the connection is checked for its next request.
    private var boundary: MessageBoundary?
    /// Whether the channel was asked for bytes and has brought none since.
    private var isReadWanted = false
    private let deadline = Deadline()
    private let times: Times
    private var connectionError: (any Error)?
    private var isKept = false
    /// A head that is handed over when everything else is done. The caller may start any action
    /// then, even the next exchange on this connection.
    private var delivery: (call: OriginCall, result: Result<OriginResponse, OriginFailure>)?
    /// Whether the channel is closed, by either side.
    private var isClosed = false

    init(
        endpoint: OriginEndpoint,
        configuration: OriginTransport.Configuration,
        pool: OriginPool,
        eventLoop: any EventLoop
    ) {
        self.endpoint = endpoint
        self.configuration = configuration
        self.pool = pool
        self.eventLoop = eventLoop
        round = .of(eventLoop)
        times = Times(configuration)
    }

    /// The timeouts as NIO's durations.
    private struct Times {
        let send: TimeAmount
        let firstByte: TimeAmount
        let read: TimeAmount
        let idle: TimeAmount
        /// The time in which an origin that announced the close of the connection must close it.
        let closing: TimeAmount

        init(_ configuration: OriginTransport.Configuration) {
            send = configuration.sendTimeout.timeAmount
            firstByte = configuration.firstByteTimeout.timeAmount
            read = configuration.readTimeout.timeAmount
            idle = configuration.idleTimeout.timeAmount
            closing = min(idle, configuration.closingTimeout.timeAmount)
        }
    }

    // MARK: The channel's events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        connection = OriginConnection(handler: self, channel: context.channel)
        writer.open(context.channel, isDirect: !endpoint.isSecure)
        peek.open(context.channel)
        deadline.whenPassed { [unowned self] in handleTimeout() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        handleClose()
        self.context = nil
        connection = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        guard let exchange, exchange.failure == nil else { return receiveUnexpected(bytes) }
        isReadWanted = false
        let isFirst = !exchange.hasResponseBegun
        exchange.hasResponseBegun = true
        apply(exchange.wait.beginResponse())
        if isFirst, exchange.mayBeRelayed,
            let response = RelayedResponse(bytes, limits: configuration.messageLimits)
        {
            return relay(response, exchange)
        }
        exchange.decoder.append(bytes)
        advance()
    }

    /// Handles bytes that belong to no request. The next request would take them for its response,
    /// and the response before them did not end where it stated.
    private func receiveUnexpected(_ bytes: ByteBuffer) {
        if !StatusLine.isRequestTimeout(bytes) { boundary.take()?.cross() }
        context?.close(promise: nil)
    }

    /// Hands over a response that came in one piece and is relayed.
    private func relay(_ response: RelayedResponse, _ exchange: Exchange) {
        let call = exchange.caller.take()
        exchange.isKeptAlive = response.isKeptAlive
        // The connection is free before the caller handles the response.
        finish()
        call?.finish(.success(.relayed(response)))
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            if let exchange { apply(exchange.wait.take()) }
            writability.take()?.succeed()
        }
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if connectionError == nil { connectionError = error }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        handleClose()
        context.fireChannelInactive()
    }

    private func handleClose() {
        guard !isClosed else { return }
        isClosed = true
        deadline.release()
        writer.release()
        peek.release()
        boundary.take()?.seal()
        writability.take()?.fail(CancellationError())
        if isKept, let connection { pool.remove(connection, endpoint) }
        isKept = false
        // After a reset, or after TLS ended without a close alert, a response that only the close
        // delimits is incomplete.
        if connectionError == nil { exchange?.decoder.closeInput() }
        advance()
    }

    // MARK: Called by exchanges, through their connection

    /// Sends a head, and waits for the head of the response.
    ///
    /// - Throws: ``OriginFailure`` if nothing was sent. Then ``OriginCall/finish(_:)`` is not
    ///   called.
    func begin(_ number: UInt64, _ request: OriginRequest, for call: OriginCall) throws(OriginFailure) {
        let wasKept = isKept
        isKept = false
        stopWaiting()
        guard context != nil, !isClosed, exchange == nil, !wasKept || isQuiet() else {
            throw OriginFailure(error: closedError(connectionError), isBeforeResponse: true, isUnsent: true)
        }
        boundary.take()?.seal()
        let exchange = Exchange(number, request, limits: configuration.messageLimits, for: call)
        self.exchange = exchange
        if let running = exchange.wait.running { apply(.begin(running)) }
        writer.put(request.head)
        round.flush(self)
        read()
    }

    func flush() {
        guard let context else { return }
        writer.flush(context)
        if let exchange, context.channel.isWritable { apply(exchange.wait.take()) }
    }

    /// Whether no bytes have come on a kept connection since its last response. If some have, it
    /// takes no further request.
    private func isQuiet() -> Bool {
        switch peek.peek() {
        case .nothing: return true
        case .ended: context?.close(promise: nil)
        // The bytes are read before the connection closes: they may be a close alert of TLS, or a
        // 408 of the origin.
        case .bytes: waitForClose()
        }
        return false
    }

    private func waitForClose() {
        deadline.set(.now() + times.closing, on: eventLoop)
        read()
    }

    /// - Returns: a future that completes when more can be written.
    func write(_ bytes: ByteBuffer, _ number: UInt64) -> EventLoopFuture<Void> {
        guard let context, !isClosed, exchange?.number == number, exchange?.failure == nil else {
            return eventLoop.makeFailedFuture(CancellationError())
        }
        writer.put(bytes)
        writer.flush(context)
        if let exchange { apply(context.channel.isWritable ? exchange.wait.take() : exchange.wait.handOver()) }
        guard !context.channel.isWritable, context.channel.isActive else { return eventLoop.makeSucceededVoidFuture() }
        if let writability { return writability.futureResult }
        let promise = eventLoop.makePromise(of: Void.self)
        writability = promise
        return promise.futureResult
    }

    func endUpload(_ end: ByteBuffer?, _ number: UInt64) {
        guard let context, !isClosed, exchange?.number == number else { return }
        exchange?.isUploaded = true
        if let end {
            writer.put(end)
            writer.flush(context)
        }
        guard let exchange else { return }
        apply(exchange.wait.endContent())
        if context.channel.isWritable { apply(exchange.wait.take()) }
    }

    func uploadFailed(_ error: any Error, _ number: UInt64) {
        // A connection that closed during the upload may have brought the response already.
        guard !isClosed, exchange?.number == number else { return }
        let message = "The content of a request to '\(endpoint)' broke off; the request was not completed."
        fail(TransportError(code: .cancelled, message: message, cause: error))
        deliver()
    }

    func next(_ number: UInt64) -> EventLoopFuture<OriginPiece> {
        guard exchange?.number == number, exchange?.piece == nil else {
            return eventLoop.makeFailedFuture(CancellationError())
        }
        if let failure = exchange?.failure { return eventLoop.makeFailedFuture(failure) }
        if exchange?.isEnded == true {
            finish()
            return eventLoop.makeSucceededFuture(OriginPiece(bytes: nil, isLast: true))
        }
        let promise = eventLoop.makePromise(of: OriginPiece.self)
        exchange?.piece = promise
        if let exchange { apply(exchange.wait.ask()) }
        advance()
        return promise.futureResult
    }

    /// The next bytes of the content, if they are decoded already; `nil` if the caller must use
    /// ``next(_:)``.
    func nextIfReady(_ number: UInt64) -> OriginPiece? {
        guard let exchange, exchange.number == number, exchange.caller == nil, exchange.piece == nil,
            exchange.failure == nil, let bytes = exchange.ahead
        else { return nil }
        exchange.ahead = nil
        return piece(bytes, exchange)
    }

    func abandon(_ number: UInt64) {
        guard exchange?.number == number else { return }
        fail(TransportError(code: .cancelled, message: "The exchange with '\(endpoint)' was abandoned."))
        exchange = nil
        deliver()
    }

    // MARK: The response

    /// Delivers decoded content that a caller waits for, and reads more if something is missing.
    private func advance() {
        receive()
        deliver()
    }

    private func deliver() {
        guard let delivery = delivery.take() else { return }
        delivery.call.finish(delivery.result)
    }

    private func receive() {
        while isReceiving {
            if exchange?.caller == nil, let bytes = exchange?.ahead {
                guard let exchange, let promise = exchange.piece.take() else { return }
                exchange.ahead = nil
                apply(exchange.wait.deliver())
                promise.succeed(piece(bytes, exchange))
                continue
            }
            do throws(MessageRefusal) {
                switch try exchange?.decoder.next() {
                case .interim(let interim):
                    exchange?.caller?.receiveInterim(interim)
                    if let exchange {
                        apply(exchange.wait.receiveInterim())
                        if exchange.decoder.undecodedCount > 0 { apply(exchange.wait.beginResponse()) }
                        // The interim response shows that the origin is working.
                        if exchange.wait.running == .head { waitForHead(until: exchange.headEnd) }
                    }
                case .head(let head):
                    if let exchange { apply(exchange.wait.receiveHead()) }
                    exchange?.isKeptAlive = head.isKeptAlive
                    let boundary = MessageBoundary()
                    exchange?.boundary = boundary
                    let hasContent = head.framing != .none && head.framing != .length(0)
                    // There is no content to wait for, so the connection is free before the caller
                    // handles the head.
                    if !hasContent { _ = try exchange?.decoder.next() }
                    guard let call = exchange?.caller.take() else { return }
                    if !hasContent { finish() }
                    let content = hasContent ? wholeContent() : ByteBuffer()
                    delivery = (call, .success(.message(head, whole: content, boundary)))
                case .body(let bytes):
                    exchange?.ahead = bytes
                case .end:
                    guard let promise = exchange?.piece else {
                        exchange?.isEnded = true
                        return
                    }
                    finish()
                    promise.succeed(OriginPiece(bytes: nil, isLast: true))
                case nil:
                    if isClosed { return fail(closedError(connectionError)) }
                    if exchange?.caller != nil || exchange?.piece != nil { read() }
                    return
                }
            } catch {
                return fail(rejection(error))
            }
        }
    }

    private var isReceiving: Bool { exchange.map { $0.failure == nil && !$0.isEnded } ?? false }

    /// The whole content, if it came with the head. Then the connection is free, and the caller
    /// need not ask for content.
    private func wholeContent() -> ByteBuffer? {
        guard let exchange, exchange.isUploaded else { return nil }
        // A copy: if the content is incomplete or malformed, a later reader finds the decoder
        // unchanged.
        var decoder = exchange.decoder
        var bytes = ByteBuffer()
        while let event = try? decoder.next() {
            switch event {
            case .body(let more) where bytes.readableBytes == 0: bytes = more
            case .body(let more): bytes.writeImmutableBuffer(more)
            case .end:
                exchange.decoder = decoder
                finish()
                return bytes
            case .interim, .head: return nil
            }
        }
        return nil
    }

    /// A piece to hand over. It states whether it is the last one, so that the connection need not
    /// wait until the caller asks again.
    private func piece(_ bytes: ByteBuffer, _ exchange: Exchange) -> OriginPiece {
        var isLast = false
        do throws(MessageRefusal) {
            switch try exchange.decoder.next() {
            case .body(let next): exchange.ahead = next
            case .end: isLast = true
            case .interim, .head, nil: break
            }
            if isLast { finish() }
        } catch {
            // The content before the fault is delivered. The next caller gets the failure.
            fail(rejection(error))
        }
        return OriginPiece(bytes: bytes, isLast: isLast)
    }

    /// Ends a complete response. The connection is kept if it can be reused.
    private func finish() {
        stopWaiting()
        guard let exchange = exchange.take() else { return }
        boundary = exchange.boundary
        if exchange.decoder.undecodedCount > 0 { boundary.take()?.cross() }
        if isClosed {
            boundary.take()?.seal()
            return
        }
        guard exchange.isUploaded, connectionError == nil, exchange.decoder.undecodedCount == 0, let connection
        else { return close() }
        guard exchange.isKeptAlive else {
            // The bytes that the origin sends before it closes show whether the response ended
            // where it stated.
            return boundary == nil ? close() : waitForClose()
        }
        guard pool.keep(connection, endpoint) else { return close() }
        isKept = true
        deadline.set(.now() + times.idle, on: eventLoop)
        read()
    }

    /// Closes the connection after a response. Bytes that have come after the response are read
    /// before.
    private func close() {
        if boundary != nil, case .bytes = peek.peek() { return waitForClose() }
        context?.close(promise: nil)
    }

    /// Asks the channel for bytes. It asks only once until some have come, unless TLS stands
    /// between, which consumes bytes itself.
    private func read() {
        guard !isReadWanted || endpoint.isSecure else { return }
        isReadWanted = true
        context?.read()
    }

    private func fail(_ error: TransportError) {
        guard let exchange, exchange.failure == nil else { return }
        stopWaiting()
        let failure = OriginFailure(error: error, isBeforeResponse: !exchange.hasResponseBegun)
        exchange.failure = failure
        if let call = exchange.caller.take() { delivery = (call, .failure(failure)) }
        exchange.piece.take()?.fail(failure)
        context?.close(promise: nil)
    }

    private func rejection(_ refusal: MessageRefusal) -> TransportError {
        if refusal.reason == .truncated { return closedError(nil) }
        return TransportError(
            code: .protocolViolation,
            message: "The response of '\(endpoint)' was rejected for its "
                + "\(refusal.reason.rawValue.split(separator: "-").joined(separator: " ")).",
            cause: refusal
        )
    }

    private func closedError(_ cause: (any Error)?) -> TransportError {
        if cause is NIOSSLError || cause is BoringSSLError || cause is NIOSSLExtraError,
            exchange?.hasResponseBegun != true
        {
            return TransportError(code: .tls, message: "TLS with '\(endpoint)' failed.", cause: cause)
        }
        return TransportError(
            code: .connectionClosed,
            message: "'\(endpoint)' closed the connection before its response was complete.",
            cause: cause
        )
    }

    // MARK: Deadlines

    private func apply(_ change: OriginWait.Change) {
        switch change {
        case .none: break
        case .stop: stopWaiting()
        case .begin(.taking): waitForTaking()
        case .begin(.head):
            let end = exchange?.headTime.map { NIODeadline.now() + $0 }
            waitForHead(until: exchange?.earlyHeadEnd ?? end)
        case .begin(.content): deadline.set(.now() + times.read, on: eventLoop)
        }
    }

    private func waitForTaking() {
        exchange?.untaken = untaken
        deadline.set(.now() + times.send, on: eventLoop)
    }

    private func waitForHead(until end: NIODeadline?) {
        guard let exchange else { return }
        exchange.headEnd = end
        exchange.untaken = exchange.hasContent ? untaken : 0
        deadline.set(min(.now() + times.firstByte, end ?? .distantFuture), on: eventLoop)
    }

    /// The bytes of the request that the origin's system has not confirmed.
    private var untaken: Int {
        let buffered = (try? context?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
        return buffered + peek.unsentCount()
    }

    private func stopWaiting() {
        deadline.stop()
    }

    private func handleTimeout() {
        guard let exchange, let running = exchange.wait.running else {
            // The connection may be taken from the pool at this moment. Its next request then finds
            // it closed, and takes another one.
            context?.close(promise: nil)
            return
        }
        let untaken = untaken
        switch running {
        case .taking where untaken < exchange.untaken:
            // A slow origin reads a large piece in many small ones.
            return waitForTaking()
        case .taking:
            fail(
                TransportError(code: .timeout, message: "'\(endpoint)' read no more of the request's content in time.")
            )
        case .head where !exchange.hasResponseBegun && untaken < exchange.untaken:
            // The end of the content is still on its way. The time for the head begins after it.
            return apply(.begin(.head))
        case .head:
            fail(TransportError(code: .timeout, message: "'\(endpoint)' sent no response in time."))
        case .content:
            fail(TransportError(code: .timeout, message: "'\(endpoint)' sent no more of its response in time."))
        }
        deliver()
    }
}

/// The start of a response, or all of it.
enum OriginResponse: Sendable {
    /// - Parameter whole: the content, if all of it came with the head. Then another exchange may
    ///   use the connection already.
    case message(ResponseHead, whole: ByteBuffer?, MessageBoundary)
    case relayed(RelayedResponse)
}

/// A piece of a response's content.
struct OriginPiece: Sendable {
    /// The bytes; `nil` if none came before the end.
    var bytes: ByteBuffer?
    var isLast: Bool
}
