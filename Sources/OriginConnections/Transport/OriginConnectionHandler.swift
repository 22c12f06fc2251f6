import EventLoops
import GatewayRouting
import HTTPCache
import HTTPTypes
import HTTPWire
import LibC
import NIOCore

/// One connection to an origin, with one exchange at a time. It performs the actions of
/// ``ResponseReception``. Everything runs on the channel's event loop.
///
/// It reads only as much as is needed: the head, and then content on demand. While it waits for its
/// next request it keeps reading, to notice if the origin closes the connection or sends
/// unsolicited bytes.
final class OriginConnectionHandler: ChannelInboundHandler, RemovableChannelHandler, Flushing {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private struct Exchange {
        let number: UInt64
        var reception: ResponseReception
        /// The call that waits for the head; `nil` once it has the head or a failure.
        var call: OriginCall?
        /// The promise of a reader that waits for content; `nil` if none waits.
        var piece: EventLoopPromise<OriginPiece>?
    }

    private let endpoint: OriginEndpoint
    private let messageLimits: MessageLimits
    private let pool: OriginPool
    private let eventLoop: any EventLoop
    private var context: ChannelHandlerContext?
    /// The connection as exchanges use it; `nil` outside a pipeline.
    private(set) var connection: OriginConnection?
    /// Changed in place, because a copy of its decoder would make the decoder's buffers copy when
    /// they grow.
    private var exchange: Exchange?
    private var writability: EventLoopPromise<Void>?
    private let round: LoopRound
    private let writer = SocketWriter()
    private var peek = SocketPeek()
    /// The boundary of the previous response, until bytes show whether it ended there, or the
    /// connection closes.
    private var boundary: MessageBoundary?
    private var turn = ResponseTurn()
    /// Counts reads before TLS decryption; `nil` without TLS.
    private let arrivals: ArrivalCounter?
    /// The count of ``arrivals`` at the end of the previous response; `nil` if there was none.
    private var arrivalsBefore: Int?
    /// Whether the channel was asked to read and has not delivered bytes since.
    private var isReadWanted = false
    private var timeLimits: OriginTimeLimits
    private var connectionError: (any Error)?
    private var isKept = false
    /// A result to deliver after everything else is done. The caller may then start anything, even
    /// the next exchange on this connection.
    private var delivery: (call: OriginCall, result: Result<OriginResponse, OriginFailure>)?
    /// Whether either side has closed the channel.
    private var isClosed = false
    /// Whether the pool counts the connection as open.
    private var isCounted = false
    /// Bytes of another protocol that arrived after the origin switched to it; `nil` before the
    /// switch.
    private var switched: ByteBuffer?
    /// Whether the origin has closed its sending side after the switch.
    private var isInputClosed = false

    init(
        endpoint: OriginEndpoint,
        configuration: OriginTransport.Configuration,
        pool: OriginPool,
        eventLoop: any EventLoop,
        arrivals: ArrivalCounter? = nil
    ) {
        self.arrivals = arrivals
        self.endpoint = endpoint
        self.pool = pool
        self.eventLoop = eventLoop
        messageLimits = configuration.messageLimits
        round = .of(eventLoop)
        timeLimits = OriginTimeLimits(configuration, on: eventLoop)
    }

    // MARK: The channel's events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        connection = OriginConnection(handler: self, channel: context.channel)
        writer.open(context.channel, isDirect: !endpoint.isSecure)
        peek.open(context.channel)
        timeLimits.whenPassed { [unowned self] in handleTimeout() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        handleClose()
        self.context = nil
        connection = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        guard switched == nil else {
            // These bytes arrived in the same read as the response's head. No new read is
            // requested.
            switched?.writeImmutableBuffer(bytes)
            return
        }
        guard take(turn.receive(bytes)), exchange?.reception.hasFailed == false else {
            context.close(promise: nil)
            return deliver()
        }
        isReadWanted = false
        switch exchange?.reception.receive(bytes) {
        case .relay(let message):
            let call = exchange?.call.take()
            // The connection becomes idle before the caller handles the response.
            finish()
            call?.finish(.success(.relayed(message)))
        case .decode(let change):
            apply(change)
            advance()
        case nil: break
        }
    }

    /// Records whether the previous response ended where it stated.
    ///
    /// - Returns: whether the bytes belong to the exchange.
    private func take(_ arrival: ResponseTurn.Arrival) -> Bool {
        switch arrival {
        case .response:
            boundary.take()?.seal()
            return true
        case .misplaced(let stray):
            note(stray)
            return true
        case .stray(let stray):
            note(stray)
            // The bytes would be mistaken for the response to this request.
            giveBack()
            return false
        case .late: return false
        }
    }

    private func note(_ stray: ResponseTurn.Stray) {
        if stray == .timeout { boundary.take()?.seal() } else { boundary.take()?.cross() }
        if stray == .bytes { pool.noteStray(from: endpoint) }
    }

    /// Returns the exchange to its caller if no byte of its request was sent. The request may then
    /// go to another connection, unless part of its content was already read for this one.
    private func giveBack() {
        guard turn.isUnsent else { return }
        turn.giveBack()
        timeLimits.stop()
        writer.release()
        guard let exchange = exchange.take() else { return }
        let error = TransportError(closing: endpoint, connectionError, isBeforeResponse: true)
        let isUnsent = !exchange.reception.hasContent
        let failure = OriginFailure(error: error, isBeforeResponse: true, isUnsent: isUnsent)
        if let call = exchange.call { delivery = (call, .failure(failure)) }
        exchange.piece?.fail(failure)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            apply(exchange?.reception.take())
            writability.take()?.succeed()
        }
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if connectionError == nil { connectionError = error }
        context.close(promise: nil)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // Only connections that may switch protocols can be half-closed.
        guard case ChannelEvent.inputClosed = event else { return context.fireUserInboundEventTriggered(event) }
        if switched == nil { context.close(promise: nil) } else { isInputClosed = true }
    }

    func channelActive(context: ChannelHandlerContext) {
        if !isCounted, !isClosed {
            isCounted = true
            pool.opened(endpoint)
        }
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        handleClose()
        context.fireChannelInactive()
    }

    private func handleClose() {
        guard !isClosed else { return }
        isClosed = true
        if connectionError == nil, writer.isReset, exchange?.reception.hasBegun != true {
            connectionError = IOError(errnoCode: ECONNRESET, reason: "write")
        }
        giveBack()
        timeLimits.release()
        writer.release()
        peek.release()
        boundary.take()?.seal()
        writability.take()?.fail(CancellationError())
        if isKept, let connection { pool.remove(connection, endpoint) }
        isKept = false
        if isCounted { pool.closed(endpoint) }
        isCounted = false
        exchange?.reception.closeInput(connectionError)
        advance()
    }

    // MARK: Called by exchanges, through their connection

    /// Sends a head, and waits for the response's head.
    ///
    /// - Throws: ``OriginFailure`` if nothing was sent. Then ``OriginCall/finish(_:)`` is not
    ///   called.
    func begin(_ number: UInt64, _ request: OriginRequest, for call: OriginCall) throws(OriginFailure) {
        let wasKept = isKept
        isKept = false
        timeLimits.stop()
        guard context != nil, !isClosed, exchange == nil, !wasKept || mayTake(request) else {
            let error = TransportError(closing: endpoint, connectionError, isBeforeResponse: true)
            throw OriginFailure(error: error, isBeforeResponse: true, isUnsent: true)
        }
        timeLimits.prepare(for: request)
        let reception = ResponseReception(of: request, limits: messageLimits)
        exchange = Exchange(number: number, reception: reception, call: call)
        turn.begin()
        if let running = exchange?.reception.running { apply(.begin(running)) }
        writer.put(request.head)
        round.flush(self)
        read()
    }

    func flush() {
        guard let context, send(context) else { return }
        if context.channel.isWritable { apply(exchange?.reception.take()) }
    }

    /// Whether a reused connection accepts a request. A request with content is checked for stray
    /// input here, because it cannot be returned once its content is read. ``send(_:)`` checks
    /// again.
    private func mayTake(_ request: OriginRequest) -> Bool {
        if pool.isSuspect(endpoint) {
            retire()
            return false
        }
        guard request.body != nil, let input = strayInput() else { return true }
        leave(input)
        return false
    }

    /// Sends the queued bytes, unless they begin a request and bytes have arrived since the last
    /// response.
    private func send(_ context: ChannelHandlerContext) -> Bool {
        if turn.isUnsent {
            if let input = strayInput() {
                giveBack()
                leave(input)
                deliver()
                return false
            }
            turn.send()
        }
        writer.flush(context)
        return true
    }

    /// The input on a reused connection since its last response; `nil` if there is none.
    private func strayInput() -> SocketPeek.Input? {
        guard let arrivalsBefore else { return nil }
        // TLS has already read a partial record from the socket.
        guard arrivals?.count ?? 0 == arrivalsBefore else { return .bytes }
        let input = peek.peek()
        return input == .nothing ? nil : input
    }

    /// Ends a reused connection that has received input. It takes no more requests.
    private func leave(_ input: SocketPeek.Input) {
        // Bytes are read before the connection closes, because they may be a TLS close alert or a
        // 408 from the origin.
        if input == .bytes { waitForClose() } else { context?.close(promise: nil) }
    }

    /// Ends a connection that takes no more requests because its origin is suspect. If its last
    /// response may be stored, it waits a moment for bytes after the response.
    func retire() {
        guard exchange == nil, !isClosed else { return }
        isKept = false
        if boundary == nil { context?.close(promise: nil) } else { waitForClose() }
    }

    private func waitForClose() {
        timeLimits.beginClosing()
        read()
    }

    /// Writes content.
    ///
    /// - Returns: a future that completes when more can be written.
    func write(_ bytes: ByteBuffer, _ number: UInt64) -> EventLoopFuture<Void> {
        guard let context, !isClosed, exchange?.number == number, exchange?.reception.hasFailed == false else {
            return eventLoop.makeFailedFuture(CancellationError())
        }
        writer.put(bytes)
        guard send(context) else { return eventLoop.makeFailedFuture(CancellationError()) }
        apply(context.channel.isWritable ? exchange?.reception.take() : exchange?.reception.handOver())
        guard !context.channel.isWritable, context.channel.isActive else { return eventLoop.makeSucceededVoidFuture() }
        if let writability { return writability.futureResult }
        let promise = eventLoop.makePromise(of: Void.self)
        writability = promise
        return promise.futureResult
    }

    func endUpload(_ end: ByteBuffer?, _ number: UInt64) {
        guard let context, !isClosed, exchange?.number == number else { return }
        if let end {
            writer.put(end)
            guard send(context) else { return }
        }
        apply(exchange?.reception.endUpload())
        if context.channel.isWritable { apply(exchange?.reception.take()) }
    }

    func uploadFailed(_ error: any Error, _ number: UInt64) {
        // A connection that closed during the upload may already have delivered the response.
        guard !isClosed, exchange?.number == number else { return }
        let message = "The content of a request to '\(endpoint)' broke off; the request was not completed."
        fail(TransportError(code: .cancelled, message: message, cause: error))
        deliver()
    }

    func next(_ number: UInt64) -> EventLoopFuture<OriginPiece> {
        guard exchange?.number == number else { return eventLoop.makeFailedFuture(CancellationError()) }
        switch exchange?.reception.ask() {
        case .wait(let change):
            let promise = eventLoop.makePromise(of: OriginPiece.self)
            exchange?.piece = promise
            apply(change)
            advance()
            return promise.futureResult
        case .end(let trailers):
            finish()
            return eventLoop.makeSucceededFuture(OriginPiece(bytes: nil, isLast: true, trailers: trailers))
        case .fail(let failure): return eventLoop.makeFailedFuture(failure)
        case .reject, nil: return eventLoop.makeFailedFuture(CancellationError())
        }
    }

    /// Returns the next bytes of the content, if they are already decoded; `nil` if the caller must
    /// use ``next(_:)``.
    func nextIfReady(_ number: UInt64) -> OriginPiece? {
        guard exchange?.number == number, let piece = exchange?.reception.takeAhead() else { return nil }
        if piece.isLast { finish() } else { advance() }
        return piece
    }

    func abandon(_ number: UInt64) {
        guard exchange?.number == number else { return }
        fail(TransportError(code: .cancelled, message: "The exchange with '\(endpoint)' was abandoned."))
        exchange = nil
        deliver()
    }

    // MARK: Actions

    /// Performs the steps that are due.
    private func advance() {
        while let step = exchange?.reception.next() {
            switch step {
            case .interim(let interim, let change):
                exchange?.call?.receiveInterim(interim)
                apply(change)
                // The interim response shows that the origin is working.
                if exchange?.reception.running == .head {
                    noteUntaken()
                    timeLimits.repeatHeadLimit()
                }
            case .head(let head, let whole, let boundary):
                timeLimits.stop()
                guard let call = exchange?.call.take() else { break }
                if head.switchesProtocols { switchProtocol(for: call, boundary) }
                // The connection becomes idle before the caller handles the head.
                if whole != nil { finish() }
                delivery = (call, .success(.message(head, whole: whole, boundary)))
            case .piece(let piece):
                timeLimits.stop()
                let promise = exchange?.piece.take()
                if piece.isLast { finish() }
                promise?.succeed(piece)
            case .read:
                read()
                return deliver()
            case .fail(let failure):
                fail(failure)
            }
        }
        deliver()
    }

    /// Hands the connection over to another protocol. It is not read until its next handler takes
    /// it: see ``takeSwitched()``.
    private func switchProtocol(for call: OriginCall, _ boundary: MessageBoundary) {
        switched = exchange.take()?.reception.rest ?? ByteBuffer()
        boundary.seal()
        if let channel = context?.channel { call.takeOver(channel) }
    }

    /// Returns the bytes of the other protocol that have arrived, and whether no more will arrive.
    /// After this call, another handler replaces this one.
    func takeSwitched() -> (bytes: ByteBuffer, isLast: Bool) {
        defer { switched = ByteBuffer() }
        return (switched ?? ByteBuffer(), isInputClosed)
    }

    private func deliver() {
        guard let delivery = delivery.take() else { return }
        delivery.call.finish(delivery.result)
    }

    /// Ends a complete response. The connection is kept if it can be reused.
    private func finish() {
        timeLimits.stop()
        guard let reception = exchange.take()?.reception else { return }
        turn.end()
        arrivalsBefore = arrivals?.count ?? 0
        boundary = reception.boundary
        switch reception.ending {
        case .crossed:
            note(ResponseTurn.stray(behindResponse: reception.rest))
            close()
        case .closed: boundary.take()?.seal()
        case .close: close()
        case .awaitClose: waitForClose()
        case .keep:
            guard connectionError == nil, let connection else { return close() }
            guard pool.keep(connection, endpoint) else { return pool.isSuspect(endpoint) ? retire() : close() }
            isKept = true
            timeLimits.beginIdle()
            read()
        }
    }

    /// Closes the connection after a response. Bytes that arrived after the response are read
    /// first.
    private func close() {
        if boundary != nil, case .bytes = peek.peek() { return waitForClose() }
        context?.close(promise: nil)
    }

    /// Asks the channel to read, unless a read is already pending. With TLS, it always asks,
    /// because TLS may consume bytes without delivering any.
    private func read() {
        guard !isReadWanted || endpoint.isSecure else { return }
        isReadWanted = true
        context?.read()
    }

    private func fail(_ error: TransportError) {
        if let failure = exchange?.reception.fail(error) { fail(failure) }
    }

    private func fail(_ failure: OriginFailure) {
        turn.giveUp()
        timeLimits.stop()
        if let call = exchange?.call.take() { delivery = (call, .failure(failure)) }
        exchange?.piece.take()?.fail(failure)
        context?.close(promise: nil)
    }

    // MARK: Time limits

    private func apply(_ change: OriginWait.Change?) {
        switch change {
        case .begin(let running)?:
            if running != .content { noteUntaken() }
            timeLimits.begin(running)
        case .stop?: timeLimits.stop()
        case OriginWait.Change.none?, nil: break
        }
    }

    private func noteUntaken() {
        guard exchange?.reception.hasContent == true else { return }
        exchange?.reception.untaken = peek.untakenCount()
    }

    private func handleTimeout() {
        switch exchange?.reception.passLimit(timeLimits.last, untaken: peek.untakenCount()) {
        case .extend(let running): apply(.begin(running))
        case .fail(let failure):
            fail(failure)
            deliver()
        // The connection may be taken from the pool at this moment. In that case, its next request
        // finds it closed, and uses another connection.
        case .close, nil: context?.close(promise: nil)
        }
    }
}
