import CNGHTTP2
import HTTPCache
import HTTPTypes
import NIOCore
import NIOSSL

/// One client's HTTP/2 connection. ``HTTP2Session`` reads and writes its frames; this class begins
/// a ``ClientExchange`` for each request, and watches over the client. RFC 9113
///
/// All of it runs on the channel's event loop. Frames are sent once for each round of the loop, and
/// never from within a call of nghttp2.
final class HTTP2Connection: ChannelInboundHandler, Flushing {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// How long a client may take.
    struct Limits {
        let request, lateRequest, head, content, write, closing: TimeAmount
        /// How often clients with requests under way are looked at.
        let interval: TimeAmount

        init(_ timeouts: GatewayConfiguration.Timeouts) {
            request = timeouts.request.timeAmount
            lateRequest = timeouts.lateRequest.timeAmount
            head = timeouts.head.timeAmount
            content = timeouts.content.timeAmount
            write = timeouts.write.timeAmount
            closing = timeouts.closing.timeAmount
            let least = min(head, content, timeouts.slowContent.timeAmount, write)
            interval = max(min(.nanoseconds(least.nanoseconds / 4), .seconds(5)), .milliseconds(10))
        }
    }

    /// nghttp2 refers to both until the stream is over.
    private struct HotStream {
        let id: Int32
        let response: HotResponse
        let fields: HTTP2Fields
    }

    private enum State {
        case open
        /// The client's bytes are dropped for a while, so that it gets the last frames before it
        /// gets a reset.
        case lingering(rest: Int)
        case closed
    }

    /// Bytes that are sent before other connections have their turn, and before the system is
    /// asked whether the client takes them. RFC 9113 §5.2.2
    private static let (turn, piece) = (256 << 10, 64 << 10)
    /// Content up to this size is copied behind its frame's head, which costs less than one more
    /// piece for the system.
    private static let copied = 4 << 10
    /// The memory for bytes to send, at first.
    private static let small = 2 << 10

    let service: GatewayService
    private let session: ClientSession
    private let tls: NIOSSLServerHandler?
    private let output: ConnectionOutput
    private let limits: Limits
    private let settings: HTTP2Session.Settings
    private let places: HTTP2Places
    private var context: ChannelHandlerContext?
    private var state = State.open
    /// Its state as it is counted.
    private var counted: ConnectionState?
    private var frames: HTTP2Session?
    private var streams: [Int32: HTTP2Stream] = [:]
    private var section: HTTP2FieldSection
    private var patience = HTTP2Patience(at: .now())
    private let number: Int64
    private var requestCount: Int64 = 0

    private let watchdog = Deadline()
    /// When a client with a request under way is looked at again.
    private var nextLook: NIODeadline?
    /// Since when no request is under way.
    private var idleSince = NIODeadline.now()
    /// Since when a request's fields have begun and are not complete.
    private var fieldsSince: NIODeadline?
    private var isDraining = false
    /// When the bytes came that are being read; `nil` if none are.
    private var readAt: NIODeadline?
    private var isReadWanted = false
    /// Whether nghttp2 is being called.
    private var isBusy = false
    private var isFlushScheduled = false
    /// The streams with responses from memory, which have no object, and when one of them last
    /// moved. There are a few at a time, so that looking at each is faster than a dictionary.
    private var hotStreams: [HotStream] = []
    private var hotMovedAt = NIODeadline.now()
    /// Bytes to send that are not in ``output`` yet.
    private var pending = ByteBuffer()
    /// The bytes sent in this turn, and since the system was last asked.
    private var (turnCount, pieceCount) = (0, 0)

    /// - Parameters:
    ///   - session: of the client.
    ///   - tls: encrypts what is written; `nil` without TLS.
    ///   - number: the connection's number.
    init(service: GatewayService, session: ClientSession, tls: NIOSSLServerHandler?, number: Int64) {
        self.service = service
        self.session = session
        self.tls = tls
        self.number = number
        let configuration = service.configuration
        limits = Limits(configuration.timeouts)
        settings = HTTP2Session.Settings()
        places = HTTP2Places(settings.concurrentStreams, of: service.http2Requests)
        section = HTTP2FieldSection(limits: configuration.messageLimits)
        output = ConnectionOutput(
            round: .of(session.executor.eventLoop),
            patience: configuration.timeouts.write.timeAmount
        )
    }

    var hot: HotTable { session.hot }
    var eventLoop: any EventLoop { session.executor.eventLoop }

    /// The time of what is being handled.
    var now: NIODeadline { readAt ?? .now() }

    // MARK: Events of the channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        output.open(context, tls)
        watchdog.whenPassed { [unowned self] in look() }
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
        enter(.idle)
        idleSince = .now()
        watch()
        schedule()
        read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        receive(unwrapInboundIn(data))
    }

    /// Takes bytes of the client.
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
            // Requests that were decoded are ended too.
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

    /// Sends what the bytes have brought about.
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
        // A client that sends no more has no more to say: nothing of HTTP/2 is done half-closed.
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

    /// The client has gone: its exchanges end.
    private func end() {
        state = .closed
        enter(nil)
        watchdog.release()
        frames = nil
        closeStreams()
        output.release()
    }

    private func enter(_ next: ConnectionState?) {
        guard counted != next else { return }
        session.telemetry.countConnection(counted, to: next)
        counted = next
    }

    private func closeStreams() {
        let open = streams
        streams = [:]
        hotStreams = []
        for stream in open.values { stream.close() }
    }

    private func read() {
        guard !isReadWanted else { return }
        isReadWanted = true
        context?.read()
    }

    // MARK: Sending

    /// Sends what there is when the loop's round is over.
    private func schedule() {
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
        turnCount = 0
        var goesOn = true
        while goesOn, frames.wantsToSend, turnCount < Self.turn, !output.isHeldBack {
            pieceCount = 0
            isBusy = true
            goesOn = frames.send()
            isBusy = false
            if pieceCount == 0 { break }
            putPending()
            // Here, and not while nghttp2 is being called: the client may be gone, and then the
            // channel reads what it had sent, and closes.
            output.flushIfLong()
            output.holdBack()
            guard case .open = state else { return }
        }
        guard case .open = state else { return }
        if !goesOn || frames.isOver { return linger() }
        if isDraining, isIdle, !isAwaitingPing { return linger() }
        if frames.wantsToSend, !output.isHeldBack, turnCount >= Self.turn {
            session.executor.perform { [weak self] in self?.flush() }
        }
    }

    private func putPending() {
        guard pending.readableBytes > 0 else { return }
        output.collect(pending)
        pending = ByteBuffer()
    }

    /// Takes bytes to send.
    ///
    /// - Returns: `false` if the connection takes none for the moment.
    func send(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard pieceCount < Self.piece else { return false }
        count(bytes.count)
        // A response from memory follows its fields, and seldom needs more.
        if pending.capacity == 0 { pending.reserveCapacity(Self.small) }
        pending.writeBytes(bytes)
        return true
    }

    /// Takes a DATA frame to send: its first bytes, and how many bytes of the stream's content
    /// follow.
    ///
    /// - Returns: `false` if the connection takes none for the moment.
    func sendContent(_ head: UnsafeBufferPointer<UInt8>, _ count: Int, of stream: HTTP2Stream) -> Bool {
        guard pieceCount < Self.piece else { return false }
        self.count(head.count + count)
        pending.writeBytes(head)
        stream.takeContent(count) { put($0) }
        patience.earn()
        return true
    }

    /// The same for a response from memory.
    func sendContent(_ head: UnsafeBufferPointer<UInt8>, _ count: Int, of response: HotResponse, from place: Int)
        -> Bool
    {
        guard pieceCount < Self.piece else { return false }
        self.count(head.count + count)
        pending.writeBytes(head)
        let content = response.content
        if let bytes = content.getSlice(at: content.readerIndex + place, length: count) { put(bytes) }
        hotMovedAt = now
        // There is no object to count such frames: they cost patience instead of giving some.
        if count < min(HTTP2Stream.leastFrame, content.readableBytes - place) { spend(.frame) } else { patience.earn() }
        return true
    }

    private func put(_ bytes: ByteBuffer) {
        if bytes.readableBytes <= Self.copied {
            pending.writeImmutableBuffer(bytes)
        } else {
            putPending()
            output.collect(bytes)
        }
    }

    private func count(_ bytes: Int) {
        turnCount += bytes
        pieceCount += bytes
    }

    // MARK: Wishes of streams

    /// - Parameter fields: must exist until the stream is over.
    func respond(_ stream: HTTP2Stream, _ fields: HTTP2Fields, hasContent: Bool) {
        frames?.respond(stream.id, fields, hasContent ? stream : nil)
        schedule()
    }

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

    /// The client may send so much more content.
    func consume(_ count: Int, of stream: HTTP2Stream) {
        frames?.consume(stream.id, count)
        schedule()
    }

    /// The same for a stream that is over.
    func consume(_ count: Int) {
        guard count > 0 else { return }
        frames?.consume(count)
        schedule()
    }

    // MARK: Time, and the end

    /// Looks at the client again when it may be late. Frames that it sends meanwhile do not put
    /// that off.
    func watch() {
        guard case .open = state else { return }
        if isIdle, fieldsSince == nil {
            nextLook = nil
            watchdog.set(idleSince + idleLimit, on: eventLoop)
        } else {
            let next = nextLook ?? .now() + limits.interval
            nextLook = next
            watchdog.set(next, on: eventLoop)
        }
    }

    private var isIdle: Bool { streams.isEmpty && hotStreams.isEmpty }

    private var idleLimit: TimeAmount { isDraining ? min(limits.request, limits.lateRequest) : limits.request }

    private func look() {
        guard case .open = state else {
            context?.close(promise: nil)
            return
        }
        nextLook = nil
        let now = NIODeadline.now()
        if isIdle, fieldsSince == nil, now - idleSince >= idleLimit { return finish() }
        if !hotStreams.isEmpty, now - hotMovedAt > limits.write { frames?.terminate(NGHTTP2_ENHANCE_YOUR_CALM) }
        if let fieldsSince, now - fieldsSince > limits.head {
            frames?.terminate(NGHTTP2_ENHANCE_YOUR_CALM)
        }
        for stream in streams.values where stream.isStalled(at: now, limits) {
            frames?.reset(stream.id, NGHTTP2_CANCEL)
        }
        watch()
        schedule()
    }

    /// Whether the client may have begun requests that have not come yet.
    private var isAwaitingPing = false

    /// The gateway stops.
    func drain() {
        guard !isDraining else { return }
        isDraining = true
        isAwaitingPing = true
        frames?.announceEnd()
        // A client that does not answer in this time gets the end without its answer.
        if isIdle { idleSince = .now() }
        eventLoop.assumeIsolated().scheduleTask(in: limits.lateRequest) { [weak self] in self?.answerPing() }
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

    /// Ends the connection once the client has got what was sent.
    private func linger() {
        guard case .open = state else { return }
        state = .lingering(rest: service.configuration.discardedContentLimit)
        enter(.closing)
        closeStreams()
        output.closeSending { [weak self] in
            guard let self else { return }
            watchdog.set(.now() + limits.closing, on: eventLoop)
        }
        read()
    }

    private func close() { context?.close(promise: nil) }
}

// MARK: The meaning of frames

extension HTTP2Connection {
    /// A frame begins, of which only the first nine bytes have come.
    func beginFrame(_ frame: nghttp2_frame_hd) {
        let flags = UInt32(frame.flags)
        switch UInt32(frame.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_CONTINUATION.rawValue:
            if fieldsSince == nil { fieldsSince = now }
            // The fields are complete with the last of these frames.
            if UInt32(frame.type) == NGHTTP2_CONTINUATION.rawValue { spend(.frame) }
        case NGHTTP2_RST_STREAM.rawValue:
            fieldsSince = nil
            spend(streams[frame.stream_id]?.exchange == nil ? .frame : .reset)
        case NGHTTP2_DATA.rawValue:
            fieldsSince = nil
            if frame.length == 0, flags & NGHTTP2_FLAG_END_STREAM.rawValue == 0 { spend(.frame) }
        default:
            fieldsSince = nil
            spend(.frame)
        }
    }

    private func spend(_ cost: HTTP2Patience.Cost) {
        if !patience.spend(cost, at: now) { frames?.terminate(NGHTTP2_ENHANCE_YOUR_CALM) }
    }

    /// The fields of a stream begin: those of a request, or of its trailer section.
    func beginFields() { section.clear() }

    /// - Returns: `false` if they are too many.
    func take(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        section.append(name, value)
    }

    /// The fields of a request are complete.
    func beginRequest(_ id: Int32, endsStream: Bool) {
        fieldsSince = nil
        guard let frames else { return }
        let trace = session.drawTrace()
        let key = endsStream && trace == nil ? section.bytes : nil
        let hash = key.map { HotTable.hash($0) } ?? 0
        if let key, respondHot(id, key, hash, frames) { return }
        let configuration = service.configuration
        guard let place = places.take(ofAll: configuration.maximumConnections) else {
            return frames.reset(id, NGHTTP2_REFUSED_STREAM)
        }
        let at = ExchangeRecord.Place(connection: number, request: requestCount + 1)
        requestCount += 1
        let pace = UploadPace(rate: configuration.uploadRate, patience: configuration.timeouts.slowContent.timeAmount)
        do throws(MessageRefusal) {
            let head = try section.head(endsStream: endsStream)
            let stream = HTTP2Stream(id, on: self, head, place, pace)
            streams[id] = stream
            enter(.active)
            let exchange = ClientExchange(
                head.request,
                of: session,
                content: stream,
                to: stream,
                in: trace,
                since: now,
                at: at
            )
            stream.exchange = exchange
            // An equal request gets a span too, so the response is not kept for it.
            if let key, exchange.trace.span == nil { stream.requestBytes = (key, hash) }
            exchange.begin()
            stream.requestBytes = nil
        } catch {
            // To decode them is more work than their bytes are.
            if [.fieldsTooLarge, .startLineTooLong].contains(error.reason) { spend(.reset) }
            let stream = HTTP2Stream(id, on: self, nil, place, pace)
            streams[id] = stream
            stream.respond(with: session.refuse(error, since: now, at: at))
        }
    }

    /// Writes the response that an equal request got before, if it is still valid.
    ///
    /// - Returns: whether it did.
    private func respondHot(_ id: Int32, _ key: ByteBuffer, _ hash: Int, _ frames: HTTP2Session) -> Bool {
        // A stream without an object has no time of its own, so its client must take all of the
        // content at once.
        guard let response = session.hot.response(to: key, hash: hash), response.contentLength <= frames.window(of: id)
        else { return false }
        guard let fields = response.fields(at: service.engine.now, service.engine) else {
            session.hot.forget(response)
            return false
        }
        session.hot.responseCount += 1
        session.executor.noteHit()
        let place = ExchangeRecord.Place(connection: number, request: requestCount + 1)
        requestCount += 1
        session.telemetry.recordHotHit(
            response,
            since: now,
            isSecure: session.client.isSecure,
            client: session.client,
            place: place
        )
        if hotStreams.isEmpty { hotMovedAt = now }
        hotStreams.append(HotStream(id: id, response: response, fields: fields))
        frames.respond(id, fields, hot: response.contentLength > 0 ? response : nil)
        return true
    }

    func takeContent(_ bytes: UnsafeBufferPointer<UInt8>, of id: Int32) {
        if let stream = streams[id] { stream.receive(bytes) } else { frames?.consume(bytes.count) }
    }

    /// - Parameter hasTrailers: whether its trailer section was decoded just now.
    func endContent(of id: Int32, hasTrailers: Bool) {
        fieldsSince = nil
        guard let stream = streams[id] else { return }
        do throws(MessageRefusal) {
            stream.endContent(trailers: hasTrailers ? try section.trailers() : nil)
        } catch {
            stream.endContent(refusing: error)
        }
    }

    /// The client may take more content of all streams than before, or of one.
    func openWindow() { for stream in streams.values { stream.openWindow() } }

    /// The client has seen all that was sent before a ping.
    func answerPing() {
        guard isAwaitingPing, case .open = state else { return }
        isAwaitingPing = false
        frames?.takeNoMore()
        schedule()
    }

    /// A frame was sent.
    func sent(_ frame: nghttp2_frame) {
        let endsStream = UInt32(frame.hd.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
        switch UInt32(frame.hd.type) {
        case NGHTTP2_RST_STREAM.rawValue:
            // The fields of the stream may have been the reason: they are not awaited any more.
            fieldsSince = nil
            switch frame.rst_stream.error_code {
            // A response that broke off, or one that needs no more of its request.
            case NGHTTP2_INTERNAL_ERROR.rawValue, NGHTTP2_NO_ERROR.rawValue: break
            // Other connections have the places.
            case NGHTTP2_REFUSED_STREAM.rawValue where !places.areTaken: spend(.frame)
            // A client can make the gateway reset its streams, instead of doing it itself.
            default: spend(.reset)
            }
        case NGHTTP2_HEADERS.rawValue where endsStream, NGHTTP2_DATA.rawValue where endsStream:
            streams[frame.hd.stream_id]?.discardRest()
        default:
            break
        }
    }

    /// A stream is over.
    func close(_ id: Int32) {
        if let place = hotStreams.firstIndex(where: { $0.id == id }) {
            hotStreams.swapAt(place, hotStreams.count - 1)
            hotStreams.removeLast()
        } else {
            streams.removeValue(forKey: id)?.close()
        }
        if isIdle { idleSince = now }
        if streams.isEmpty, case .open = state { enter(.idle) }
    }
}
