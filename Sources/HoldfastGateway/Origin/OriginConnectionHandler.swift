import HTTPCache
import HTTPTypes
import NIOCore
import NIOSSL

/// One connection to an origin, one exchange at a time. Everything here runs on the channel's event
/// loop.
///
/// It reads only what is asked for: nothing but the head until somebody pulls the content. While it
/// waits for a next request it reads to learn that the origin hung up, or sent what nobody asked
/// for.
final class OriginConnectionHandler: ChannelInboundHandler, Flushing {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// A class: it changes with all that comes, and in its place. What a copy of the decoder holds
    /// as well would be copied when it grows.
    private final class Exchange {
        let number: UInt64
        var decoder: ResponseDecoder
        /// Who waits for the head; `nil` when it has been delivered.
        var caller: OriginCall?
        /// There while somebody waits for content.
        var piece: EventLoopPromise<OriginPiece>?
        var isUploaded: Bool
        let hasContent: Bool
        var hasAnswerBegun = false
        /// Which time runs.
        var wait: OriginWait
        /// Bytes that the origin's system had not taken when the time began that runs.
        var untaken = 0
        /// By when the head must have come, while that time runs.
        var headEnd: NIODeadline?
        /// The same for a request without content, from the beginning.
        let earlyHeadEnd: NIODeadline?
        var isKeptAlive = false
        /// There once the head has come, unless nothing of the response can be stored.
        var boundary: MessageBoundary?
        let mayBeRelayed: Bool
        /// See ``OriginRequest/headTime``.
        let headTime: TimeAmount?
        /// Decoded, and not asked for yet.
        var ahead: ByteBuffer?
        /// Nothing more comes, and nobody has asked yet.
        var isEnded = false
        /// What the next to ask is told.
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
    /// How exchanges reach it; `nil` outside of a pipeline.
    private(set) var connection: OriginConnection?
    private var exchange: Exchange?
    private var writability: EventLoopPromise<Void>?
    private let round: LoopRound
    private let writer = SocketWriter()
    private var peek = SocketPeek()
    /// Of the response before, until the connection is looked at for its next request.
    private var boundary: MessageBoundary?
    /// The channel was asked for bytes, and has brought none since.
    private var isReadWanted = false
    private let deadline = Deadline()
    private let times: Times
    private var connectionError: (any Error)?
    private var isKept = false
    /// A head that is to be handed over when all else is done: who takes it may begin anything, the
    /// next exchange here too.
    private var delivery: (call: OriginCall, result: Result<OriginResponse, OriginFailure>)?
    /// Set when the channel is closed, by whichever side.
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

    /// What is waited for, in NIO's terms.
    private struct Times {
        let send: TimeAmount
        let firstByte: TimeAmount
        let read: TimeAmount
        let idle: TimeAmount
        /// How long an origin that said that it closes may take to do so.
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
        deadline.whenPassed { [unowned self] in passed() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        disconnected()
        self.context = nil
        connection = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        guard let exchange, exchange.failure == nil else { return spokeUnasked(bytes) }
        isReadWanted = false
        let isFirst = !exchange.hasAnswerBegun
        exchange.hasAnswerBegun = true
        apply(exchange.wait.beginResponse())
        if isFirst, exchange.mayBeRelayed,
            let response = RelayedResponse(bytes, limits: configuration.messageLimits)
        {
            return relay(response, exchange)
        }
        exchange.decoder.append(bytes)
        advance()
    }

    /// The origin sent bytes that no request asked for. The next request would take them for its
    /// response, and what came before them did not end where it said.
    private func spokeUnasked(_ bytes: ByteBuffer) {
        if !StatusLine.isRequestTimeout(bytes) { boundary.take()?.cross() }
        context?.close(promise: nil)
    }

    /// The whole answer came at once, and nobody wants it otherwise than it came.
    private func relay(_ response: RelayedResponse, _ exchange: Exchange) {
        let call = exchange.caller.take()
        exchange.isKeptAlive = response.isKeptAlive
        // The connection is free before the answer is looked at.
        finish()
        call?.ended(.success(.relayed(response)))
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
        disconnected()
        context.fireChannelInactive()
    }

    private func disconnected() {
        guard !isClosed else { return }
        isClosed = true
        deadline.release()
        writer.release()
        peek.release()
        boundary.take()?.seal()
        writability.take()?.fail(CancellationError())
        if isKept, let connection { pool.remove(connection, endpoint) }
        isKept = false
        // After a reset, or an end of TLS that was not announced, what has come is not the whole of
        // what only the end delimits.
        if connectionError == nil { exchange?.decoder.closeInput() }
        advance()
    }

    // MARK: An exchange's doings, by way of its connection

    /// Sends a head, and takes the answer's.
    ///
    /// - Throws: where nothing was sent; ``OriginCall/ended(_:)`` is not called then.
    func begin(_ number: UInt64, _ request: OriginRequest, for call: OriginCall) throws(OriginFailure) {
        let wasKept = isKept
        isKept = false
        stopWaiting()
        guard context != nil, !isClosed, exchange == nil, !wasKept || isQuiet() else {
            throw OriginFailure(error: hungUp(connectionError), isBeforeAnswer: true, isUnsent: true)
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

    /// Whether nothing has come on a kept connection since its last response. Where something has,
    /// it takes no request.
    private func isQuiet() -> Bool {
        switch peek.look() {
        case .nothing: return true
        case .ended: context?.close(promise: nil)
        // It is read before the connection closes: it may be a farewell, TLS's or the origin's.
        case .bytes: waitForClose()
        }
        return false
    }

    private func waitForClose() {
        deadline.set(.now() + times.closing, on: eventLoop)
        read()
    }

    /// - Returns: when more can be taken.
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
        // A connection that ended while content was sent may have brought the answer to it.
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

    /// The next bytes of the content where they are there already; `nil` where ``next(_:)`` has to
    /// be asked.
    func nextAtOnce(_ number: UInt64) -> OriginPiece? {
        guard let exchange, exchange.number == number, exchange.caller == nil, exchange.piece == nil,
            exchange.failure == nil, let bytes = exchange.ahead
        else { return nil }
        exchange.ahead = nil
        return piece(bytes, exchange)
    }

    func abandon(_ number: UInt64) {
        guard exchange?.number == number else { return }
        fail(TransportError(code: .cancelled, message: "The exchange with '\(endpoint)' was given up."))
        exchange = nil
        deliver()
    }

    // MARK: The answer

    /// Delivers what is there and asked for, and asks for more where something is missing.
    private func advance() {
        receive()
        deliver()
    }

    private func deliver() {
        guard let delivery = delivery.take() else { return }
        delivery.call.ended(delivery.result)
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
                    exchange?.caller?.informed(interim)
                    if let exchange {
                        apply(exchange.wait.receiveInterim())
                        if exchange.decoder.undecodedCount > 0 { apply(exchange.wait.beginResponse()) }
                        // The origin is at work.
                        if exchange.wait.running == .head { waitForHead(until: exchange.headEnd) }
                    }
                case .head(let head):
                    if let exchange { apply(exchange.wait.receiveHead()) }
                    exchange?.isKeptAlive = head.isKeptAlive
                    let boundary = MessageBoundary()
                    exchange?.boundary = boundary
                    let hasContent = head.framing != .none && head.framing != .length(0)
                    // There is nothing to wait for: the connection is free before the head is
                    // looked at.
                    if !hasContent { _ = try exchange?.decoder.next() }
                    guard let call = exchange?.caller.take() else { return }
                    if !hasContent { finish() }
                    let content = hasContent ? whole() : ByteBuffer()
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
                    if isClosed { return fail(hungUp(connectionError)) }
                    if exchange?.caller != nil || exchange?.piece != nil { read() }
                    return
                }
            } catch {
                return fail(refused(error))
            }
        }
    }

    private var isReceiving: Bool { exchange.map { $0.failure == nil && !$0.isEnded } ?? false }

    /// All of the content, where it came with the head: the connection is free then, and nobody has
    /// to ask for it.
    private func whole() -> ByteBuffer? {
        guard let exchange, exchange.isUploaded else { return nil }
        // A copy: where this look leads nowhere, or to a refusal, whoever asks for the content
        // finds it as it was.
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

    /// A piece to be handed over, with whether it is the last, so that the connection need not wait
    /// for somebody to ask once more.
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
            // What came before it is delivered all the same; the next to ask is told.
            fail(refused(error))
        }
        return OriginPiece(bytes: bytes, isLast: isLast)
    }

    /// The answer is complete: the connection is kept where nothing speaks against it.
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
            // What the origin sends before it closes shows whether the response ended where it
            // said.
            return boundary == nil ? close() : waitForClose()
        }
        guard pool.keep(connection, endpoint) else { return close() }
        isKept = true
        deadline.set(.now() + times.idle, on: eventLoop)
        read()
    }

    /// Closes the connection behind a response. What has come behind it by now is read before.
    private func close() {
        if boundary != nil, case .bytes = peek.look() { return waitForClose() }
        context?.close(promise: nil)
    }

    /// Asks the channel for bytes; once until it has brought some, where nothing stands between
    /// that takes bytes for itself.
    private func read() {
        guard !isReadWanted || endpoint.isSecure else { return }
        isReadWanted = true
        context?.read()
    }

    private func fail(_ error: TransportError) {
        guard let exchange, exchange.failure == nil else { return }
        stopWaiting()
        let failure = OriginFailure(error: error, isBeforeAnswer: !exchange.hasAnswerBegun)
        exchange.failure = failure
        if let call = exchange.caller.take() { delivery = (call, .failure(failure)) }
        exchange.piece.take()?.fail(failure)
        context?.close(promise: nil)
    }

    private func refused(_ refusal: MessageRefusal) -> TransportError {
        if refusal.reason == .truncated { return hungUp(nil) }
        return TransportError(
            code: .protocolViolation,
            message: "The answer of '\(endpoint)' was refused for its "
                + "\(refusal.reason.rawValue.split(separator: "-").joined(separator: " ")).",
            cause: refusal
        )
    }

    private func hungUp(_ cause: (any Error)?) -> TransportError {
        if cause is NIOSSLError || cause is BoringSSLError || cause is NIOSSLExtraError,
            exchange?.hasAnswerBegun != true
        {
            return TransportError(code: .tls, message: "TLS with '\(endpoint)' failed.", cause: cause)
        }
        return TransportError(
            code: .connectionClosed,
            message: "'\(endpoint)' hung up before its answer was complete.",
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

    /// Bytes of the request that the origin's system has not taken.
    private var untaken: Int {
        let buffered = (try? context?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
        return buffered + peek.unsentCount()
    }

    private func stopWaiting() {
        deadline.stop()
    }

    private func passed() {
        guard let exchange, let running = exchange.wait.running else {
            // It may be on its way to a request that is not here yet; that one finds it closed, and
            // takes another.
            context?.close(promise: nil)
            return
        }
        let untaken = untaken
        switch running {
        case .taking where untaken < exchange.untaken:
            // A slow origin takes what was written in one piece in many.
            return waitForTaking()
        case .taking:
            fail(TransportError(code: .timeout, message: "'\(endpoint)' took no more of the request's content."))
        case .head where !exchange.hasAnswerBegun && untaken < exchange.untaken:
            // The end of the content is on its way still: the time for the head begins behind it.
            return apply(.begin(.head))
        case .head:
            fail(TransportError(code: .timeout, message: "'\(endpoint)' sent no response in time."))
        case .content:
            fail(TransportError(code: .timeout, message: "'\(endpoint)' sent no more of its response in time."))
        }
        deliver()
    }
}

/// The beginning of an answer, or all of it.
enum OriginResponse: Sendable {
    /// - Parameter whole: the content, where all of it came with the head; the connection may be
    ///   another's already.
    case message(ResponseHead, whole: ByteBuffer?, MessageBoundary)
    case relayed(RelayedResponse)
}

/// Some content of an answer.
struct OriginPiece: Sendable {
    /// `nil` where nothing came before the end.
    var bytes: ByteBuffer?
    var isLast: Bool
}
