import CNGHTTP2
import EventLoops
import HTTPCache
import HTTPTypes
import NIOCore
import NIOSSL

/// One client's HTTP/2 connection. ``HTTP2Session`` reads and writes its frames. This class starts
/// a ``ClientExchange`` for each request, and enforces the client's time limits. RFC 9113
///
/// Everything runs on the channel's event loop. Frames are sent once per round of the loop, and
/// never from within a call to nghttp2.
final class HTTP2Connection: ChannelInboundHandler, Flushing {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    enum State {
        case open
        /// The client's bytes are dropped for a while. Otherwise a reset could lose the last
        /// frames.
        case lingering(rest: Int)
        case closed
    }

    let service: GatewayService
    let session: ClientSession
    private let tls: NIOSSLServerHandler?
    private let output: ConnectionOutput
    private let outbox: HTTP2Output
    private let limits: Limits
    private let settings: HTTP2Session.Settings
    let permits: HTTP2Permits
    private var context: ChannelHandlerContext?
    private(set) var state = State.open
    var counted: CountedConnection
    var frames: HTTP2Session?
    var streams: [Int32: HTTP2Stream] = [:]
    var section: HTTP2FieldSection
    var patience = HTTP2Patience(at: .now())
    let number: Int64
    var requestCount: Int64 = 0

    private let watchdog = Deadline()
    /// The time of the next check of a client with a request in progress.
    private var nextCheck: NIODeadline?
    /// The time since which no request has been in progress.
    var idleSince = NIODeadline.now()
    /// The time since which a request's fields have been incomplete.
    var fieldsSince: NIODeadline?
    private(set) var isDraining = false
    /// The arrival time of the bytes that are being read; `nil` if none are.
    private var readAt: NIODeadline?
    private var isReadWanted = false
    /// Whether a call to nghttp2 is running.
    private var isBusy = false
    private var isFlushScheduled = false
    var hotStreams = HTTP2HotStreams()

    /// - Parameters:
    ///   - session: the client's session.
    ///   - tls: encrypts the written bytes; `nil` without TLS.
    ///   - number: the connection's number.
    init(service: GatewayService, session: ClientSession, tls: NIOSSLServerHandler?, number: Int64) {
        self.service = service
        self.session = session
        self.tls = tls
        self.number = number
        counted = CountedConnection(session.telemetry)
        let configuration = service.configuration
        limits = Limits(configuration.timeouts)
        var settings = HTTP2Session.Settings()
        settings.acceptsExtendedConnect = service.inForce.allowsWebSocket
        self.settings = settings
        permits = HTTP2Permits(settings.concurrentStreams, of: service.admission.http2Requests)
        section = HTTP2FieldSection(limits: configuration.messageLimits)
        output = ConnectionOutput(
            round: .of(session.executor.eventLoop),
            patience: configuration.timeouts.write.timeAmount
        )
        outbox = HTTP2Output(output)
    }

    var eventLoop: any EventLoop { session.executor.eventLoop }

    /// The arrival time of the bytes being handled, or else the current time.
    var now: NIODeadline { readAt ?? .now() }

    // MARK: Events of the channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        output.open(context, tls)
        watchdog.whenPassed { [unowned self] in checkTimes() }
        frames = HTTP2Session(for: self, settings)
        if context.channel.isActive { begin() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        begin()
        context.fireChannelActive()
    }

    private func begin() {
        guard frames != nil else { return close() }
        counted.begin()
        idleSince = .now()
        watch()
        schedule()
        read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        receive(unwrapInboundIn(data))
    }

    /// Receives bytes from the client.
    func receive(_ bytes: ByteBuffer) {
        output.beginReading()
        isReadWanted = false
        readAt = .now()
        switch state {
        case .open:
            guard let frames else { return }
            isBusy = true
            let isUnderstood = frames.receive(bytes)
            isBusy = false
            // This also ends requests that were already decoded.
            if !isUnderstood { frames.terminate(NGHTTP2_ENHANCE_YOUR_CALM) }
        case .lingering(let rest):
            state = .lingering(rest: rest - bytes.readableBytes)
            if rest <= bytes.readableBytes { context?.close(promise: nil) }
        case .closed:
            break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        endReading()
        context.fireChannelReadComplete()
    }

    /// Sends the frames that result from the bytes that were read.
    func endReading() {
        send()
        output.endReading()
        watch()
        readAt = nil
        if !output.isHeldBack { read() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, output.resume() {
            send()
            output.flushSoon()
            if !output.isHeldBack { read() }
        }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        // HTTP/2 connections are never half-closed, so a client that stops sending is done.
        case ChannelEvent.inputClosed: context.close(promise: nil)
        case is DrainEvent: drain()
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    /// Ends all exchanges, because the client has disconnected.
    private func end() {
        state = .closed
        counted.enter(nil)
        watchdog.release()
        frames = nil
        closeStreams()
        output.release()
    }

    private func closeStreams() {
        let open = streams
        streams = [:]
        hotStreams = HTTP2HotStreams()
        for stream in open.values { stream.close() }
    }

    private func read() {
        guard !isReadWanted else { return }
        isReadWanted = true
        context?.read()
    }

    // MARK: Sending

    /// Sends pending frames at the end of the loop's round.
    func schedule() {
        guard !isBusy, !isFlushScheduled, readAt == nil else { return }
        isFlushScheduled = true
        LoopRound.of(eventLoop).flush(self)
    }

    func flush() {
        isFlushScheduled = false
        send()
        output.flush()
        watch()
    }

    private func send() {
        guard !isBusy, case .open = state, let frames, !output.isHeldBack else { return }
        outbox.beginTurn()
        var goesOn = true
        while goesOn, frames.wantsToSend, !outbox.isTurnOver, !output.isHeldBack {
            outbox.beginPiece()
            isBusy = true
            goesOn = frames.send()
            isBusy = false
            if outbox.isPieceEmpty { break }
            // If the client has disconnected, the channel reads the client's remaining bytes and
            // closes, all before this call returns.
            outbox.passOn()
            guard case .open = state else { return }
        }
        guard case .open = state else { return }
        if !goesOn || frames.isOver { return linger() }
        if isDraining, isIdle, !isAwaitingPing { return linger() }
        if frames.wantsToSend, !output.isHeldBack, outbox.isTurnOver {
            session.executor.perform { [weak self] in self?.flush() }
        }
    }

    /// Accepts bytes to send.
    ///
    /// - Returns: `false` if the connection accepts no bytes at the moment.
    func send(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool { outbox.take(bytes) }

    /// Accepts a DATA frame to send: its header bytes, and the number of bytes of the stream's
    /// content that follow.
    ///
    /// - Returns: `false` if the connection accepts no bytes at the moment.
    func sendContent(_ head: UnsafeBufferPointer<UInt8>, _ count: Int, of stream: HTTP2Stream) -> Bool {
        guard outbox.take(head, before: count) else { return false }
        stream.takeContent(count) { outbox.put($0) }
        patience.earn()
        return true
    }

    /// Accepts a DATA frame to send, for a response from memory.
    func sendContent(_ head: UnsafeBufferPointer<UInt8>, _ count: Int, of response: HotResponse, from place: Int)
        -> Bool
    {
        guard outbox.take(head, before: count) else { return false }
        let content = response.content
        if let bytes = content.getSlice(at: content.readerIndex + place, length: count) { outbox.put(bytes) }
        hotStreams.move(at: now)
        // These streams have no object that counts small frames, so small frames cost patience.
        if isSmallFrame(count, of: content.readableBytes - place) { spend(.frame) } else { patience.earn() }
        return true
    }

    /// Whether a DATA frame is small although more content is waiting.
    ///
    /// Half of the client's window is never small: many clients open their window when they have
    /// read half of it, so waiting for more might never end.
    func isSmallFrame(_ count: Int, of rest: Int) -> Bool {
        count < rest && count < HTTP2Stream.leastFrame
            && count < max(HTTP2Stream.leastFrame / 2, (frames?.clientWindow ?? 0) / 2)
    }

    // MARK: Calls from streams

    /// Sends the head of a response.
    ///
    /// - Parameter fields: must exist until the stream is over.
    func respond(_ stream: HTTP2Stream, _ fields: HTTP2Fields, hasContent: Bool) {
        frames?.respond(stream.id, fields, hasContent ? stream : nil)
        schedule()
    }

    /// Sends an interim response.
    ///
    /// - Parameter fields: must exist until the stream is over.
    func inform(_ stream: HTTP2Stream, _ fields: HTTP2Fields) {
        frames?.inform(stream.id, fields)
        schedule()
    }

    func resume(_ stream: HTTP2Stream) {
        frames?.resume(stream.id)
        schedule()
    }

    func reset(_ stream: HTTP2Stream, _ code: nghttp2_error_code) {
        frames?.reset(stream.id, code)
        schedule()
    }

    func takeTurns(_ stream: HTTP2Stream) { frames?.takeTurns(stream.id) }

    /// Lets the client send this many more bytes of content on a stream.
    func consume(_ count: Int, of stream: HTTP2Stream) {
        frames?.consume(stream.id, count)
        schedule()
    }

    /// Lets the client send this many more bytes on the connection, for a stream that is over.
    func consume(_ count: Int) {
        guard count > 0 else { return }
        frames?.consume(count)
        schedule()
    }

    // MARK: Time, and the end

    /// Schedules the next check of the client for the time when it could be late. Frames that
    /// arrive in the meantime do not postpone the check.
    func watch() {
        guard case .open = state else { return }
        if isIdle, fieldsSince == nil {
            nextCheck = nil
            watchdog.set(idleSince + idleLimit, on: eventLoop)
        } else {
            let next = nextCheck ?? .now() + limits.interval
            nextCheck = next
            watchdog.set(next, on: eventLoop)
        }
    }

    /// Whether no stream can continue.
    var isOver: Bool { if case .open = state { false } else { true } }

    var isIdle: Bool { streams.isEmpty && hotStreams.isEmpty }

    private var idleLimit: TimeAmount { isDraining ? min(limits.request, limits.lateRequest) : limits.request }

    private func checkTimes() {
        guard case .open = state else {
            context?.close(promise: nil)
            return
        }
        nextCheck = nil
        let now = NIODeadline.now()
        if isIdle, fieldsSince == nil, now - idleSince >= idleLimit { return finish() }
        if hotStreams.areStalled(at: now, for: limits.write) { frames?.terminate(NGHTTP2_ENHANCE_YOUR_CALM) }
        if let fieldsSince, now - fieldsSince > limits.head {
            frames?.terminate(NGHTTP2_ENHANCE_YOUR_CALM)
        }
        for stream in streams.values where stream.isStalled(at: now, limits) {
            frames?.reset(stream.id, NGHTTP2_CANCEL)
        }
        watch()
        schedule()
    }

    /// Whether the client may have started requests that have not arrived yet.
    var isAwaitingPing = false
    /// Whether the client did not answer the ping of the gateway's shutdown.
    private var isSilent = false
    private var isStopping = false
    /// The maximum time that a client gets to close its side when the gateway shuts down, because
    /// its bytes are only dropped.
    private static let drainedClosing = TimeAmount.milliseconds(500)

    /// Begins the shutdown.
    func drain() {
        isStopping = true
        guard !isDraining else { return }
        isDraining = true
        isAwaitingPing = true
        frames?.announceEnd()
        for stream in streams.values { stream.drain() }
        // If the client does not answer the ping in this time, the connection ends without its
        // answer.
        if isIdle { idleSince = .now() }
        eventLoop.assumeIsolated().scheduleTask(in: limits.lateRequest) { [weak self] in
            guard let self, isAwaitingPing else { return }
            isSilent = true
            answerPing()
        }
        watch()
        schedule()
    }

    /// Ends an idle connection.
    private func finish() {
        isDraining = true
        isAwaitingPing = false
        frames?.takeNoMore()
        schedule()
    }

    /// Ends the connection once the client has received everything.
    private func linger() {
        guard case .open = state else { return }
        state = .lingering(rest: service.configuration.discardedContentLimit)
        counted.enter(.closing)
        closeStreams()
        output.closeSending { [weak self] in
            guard let self else { return }
            let time = isSilent ? .zero : isStopping ? min(limits.closing, Self.drainedClosing) : limits.closing
            watchdog.set(.now() + time, on: eventLoop)
        }
        read()
    }

    private func close() { context?.close(promise: nil) }
}
