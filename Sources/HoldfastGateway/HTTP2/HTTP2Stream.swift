import CNGHTTP2
import EventLoops
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import NIOCore

/// One request and its response on an HTTP/2 connection. It delivers the request's content to the
/// exchange, and writes the response. RFC 9113 §8.1
///
/// Used on the connection's event loop.
final class HTTP2Stream: RequestContent, ClientResponseWriter {
    /// The number of a response's bytes that may wait for the client: 32 KiB. Once this many wait,
    /// the exchange pauses until the client has accepted all of them. Because pieces of a stored
    /// body are long, up to 64 KiB may wait.
    private static let queueLimit = 32 << 10
    /// The minimum size of a DATA frame that does not end the content, and the number of smaller
    /// frames that are allowed; each larger frame allows one more. A client can open its window
    /// byte by byte.
    static let leastFrame = 1 << 10
    private static let smallFrames = 16
    private static let resetDelay = TimeAmount.milliseconds(100)

    let id: Int32
    /// `nil` when the stream is over.
    private var connection: HTTP2Connection?
    private let method: HTTPRequest.Method?
    /// Held while the exchange or its work exists.
    private let permit: HTTP2Permits.Permit?
    var exchange: ClientExchange?

    // The request's content.
    private var received = ByteBuffer()
    private var isContentOver: Bool
    private var refusal: MessageRefusal?
    private var owesContinue: Bool
    private var isDiscarding = false
    private var wanted: EventLoopPromise<ContentDecoder.Event>?
    /// The request's trailers, delivered with the end of its content.
    private var receivedTrailers: HTTPFields?
    private var wantedAt = NIODeadline.now()
    private var pace: UploadPace

    // The response.
    private var content: ResponseContent?
    /// The fields of all heads of the response, which nghttp2 refers to.
    private var fields: [HTTP2Fields] = []
    private var queue = CircularBuffer<ByteBuffer>()
    private(set) var queuedCount = 0
    private var isQueueOver = false
    /// The client's side of a tunnel that has started.
    private var tunnelEnd: HTTP2TunnelEnd?
    /// The trailers that follow the content.
    private(set) var trailers: HTTP2Fields?
    /// Whether the connection requests content again only after ``resume()``.
    private var isDeferred = false
    private var smallFramesLeft = HTTP2Stream.smallFrames
    private var room: EventLoopPromise<Void>?
    /// The time when the client last accepted content, or when content first became available.
    private var movedAt = NIODeadline.now()

    /// - Parameters:
    ///   - head: `nil` for an invalid request.
    init(
        _ id: Int32,
        on connection: HTTP2Connection,
        _ head: RequestHead?,
        _ permit: HTTP2Permits.Permit?,
        _ pace: UploadPace
    ) {
        self.id = id
        self.connection = connection
        self.permit = permit
        self.pace = pace
        method = head?.request.method
        owesContinue = head?.expectsContinue ?? false
        isContentOver = !(head?.hasContent ?? false)
    }

    // MARK: The request's content

    func nextContent() -> EventLoopFuture<ContentDecoder.Event>? {
        guard let connection, wanted == nil else { return nil }
        let promise = connection.eventLoop.makePromise(of: ContentDecoder.Event.self)
        if received.readableBytes == 0, !isContentOver, refusal == nil {
            wanted = promise
            wantedAt = .now()
            sayContinue()
            connection.watch()
            return promise.futureResult
        }
        let bytes = received
        received = ByteBuffer()
        if bytes.readableBytes > 0 {
            connection.consume(bytes.readableBytes, of: self)
            exchange?.countContent(bytes.readableBytes)
            promise.succeed(.body(bytes))
        } else if let refusal {
            promise.fail(refusal)
        } else {
            promise.succeed(.end(trailers: receivedTrailers))
        }
        return promise.futureResult
    }

    /// RFC 9110 §10.1.1
    private func sayContinue() {
        guard owesContinue else { return }
        owesContinue = false
        inform(HTTPResponse(status: .continue))
    }

    func discardContent() {
        isDiscarding = true
        let count = received.readableBytes
        received = ByteBuffer()
        if count > 0 { connection?.consume(count, of: self) }
    }

    /// Drops the rest of the request's content, because the response is sent. RFC 9113 §8.1
    ///
    /// Some clients lose a response that is immediately followed by a reset. Others wait for the
    /// reset before they accept the response. So the reset is sent a moment later.
    func discardRest() {
        guard !isContentOver, let connection else { return }
        discardContent()
        connection.eventLoop.assumeIsolated().scheduleTask(in: Self.resetDelay) {
            self.connection?.reset(self, NGHTTP2_NO_ERROR)
        }
    }

    /// Receives content.
    func receive(_ bytes: UnsafeBufferPointer<UInt8>) {
        owesContinue = false
        guard let connection else { return }
        if let tunnelEnd { return tunnelEnd.receive(bytes) }
        if isDiscarding { return connection.consume(bytes.count, of: self) }
        guard let promise = wanted.take() else {
            received.writeBytes(bytes)
            return
        }
        pace.record(bytes.count, after: connection.now - wantedAt)
        exchange?.countContent(bytes.count)
        connection.consume(bytes.count, of: self)
        promise.succeed(.body(ByteBuffer(bytes: bytes)))
    }

    func endContent(trailers: HTTPFields?) {
        isContentOver = true
        tunnelEnd?.closeInput()
        receivedTrailers = trailers
        wanted.take()?.succeed(.end(trailers: trailers))
    }

    /// Ends the content, because invalid bytes follow it.
    func endContent(refusing error: MessageRefusal) {
        isContentOver = true
        tunnelEnd?.closeInput()
        refusal = error
        wanted.take()?.fail(error)
    }

    // MARK: The response

    func inform(_ head: HTTPResponse) { connection?.inform(self, prepared(HTTP2FieldList(interim: head))) }

    private func prepared(_ list: HTTP2FieldList) -> HTTP2Fields {
        let prepared = HTTP2Fields(list)
        fields.append(prepared)
        return prepared
    }

    func respond(with response: GatewayResponse) {
        switch response {
        case .stored(let head, let content, let candidate):
            let fields = respond(head, content)
            if fields.isTimed { candidate.keep(head, content, as: .http2(fields)) }
        case .whole(let head, let content): respond(head, content)
        case .stream(let head, let length): begin(head, length: length)
        case .relayed(let response, let context):
            guard let service = connection?.service else { return }
            respond(service.responseHead(response.parsedHead(), .relayed, context), response.content)
        }
    }

    /// Writes a complete response, and returns the fields of its head.
    @discardableResult
    private func respond(_ head: GatewayResponseHead, _ bytes: ByteBuffer) -> HTTP2FieldList {
        isQueueOver = true
        if method != .head, bytes.readableBytes > 0 {
            queue.append(bytes)
            queuedCount = bytes.readableBytes
            movedAt = connection?.now ?? .now()
        }
        let fields = begin(head, length: StatedLength(clamping: bytes.readableBytes))
        exchange = nil
        return fields
    }

    /// Writes the head of a response, and returns its fields.
    @discardableResult
    private func begin(_ head: GatewayResponseHead, length: StatedLength?) -> HTTP2FieldList {
        let content = ResponseContent(head.response.status.code, to: method, length: length)
        self.content = content
        if !content.isWritten {
            queue.removeAll()
            queuedCount = 0
        }
        let hasContent = content.isWritten && content.rest != 0
        let fields = HTTP2FieldList(head, content)
        connection?.respond(self, prepared(fields), hasContent: hasContent)
        return fields
    }

    func write(_ piece: ByteBuffer) -> EventLoopFuture<Void>? {
        guard let connection else { return nil }
        do throws(ResponseContent.Overrun) {
            guard try content?.take(piece.readableBytes) == true, piece.readableBytes > 0 else { return nil }
        } catch {
            abort()
            return connection.eventLoop.makeFailedFuture(CancellationError())
        }
        // The last byte also ends the stream. A separate frame might have to wait for the window.
        if content?.rest == 0 { isQueueOver = true }
        if queuedCount == 0 { movedAt = .now() }
        queue.append(piece)
        queuedCount += piece.readableBytes
        resume()
        guard queuedCount >= Self.queueLimit else { return nil }
        if let room { return room.futureResult }
        let promise = connection.eventLoop.makePromise(of: Void.self)
        room = promise
        return promise.futureResult
    }

    func finish(_ trailers: HTTPFields?) {
        guard content?.isComplete != false else { return abort() }
        isQueueOver = true
        if let trailers { self.trailers = prepared(HTTP2FieldList(trailers: trailers)) }
        exchange = nil
        resume()
    }

    func abort() {
        exchange = nil
        connection?.reset(self, NGHTTP2_INTERNAL_ERROR)
    }

    // MARK: A tunnel

    func beginTunnel(
        _ head: GatewayResponseHead,
        _ protocolName: String,
        _ tunnel: Tunnel,
        _ origin: TunnelOrigin,
        _ permit: SharedPermits.Permit
    ) {
        // The tunnel ends the exchange.
        exchange = nil
        let bytes = received
        received = ByteBuffer()
        guard let connection else {
            origin.channel.close(promise: nil)
            return tunnel.endFromOutside()
        }
        let end = HTTP2TunnelEnd(self, of: tunnel, permit, owed: bytes.readableBytes, on: connection.eventLoop)
        tunnelEnd = end
        begin(head, length: nil)
        connection.takeTurns(self)
        if connection.isDraining { tunnel.drain() }
        tunnel.join(Tunnel.Beginning(end: end, bytes: bytes, isLast: isContentOver), origin.beginning)
    }

    var isTunnel: Bool { tunnelEnd != nil }

    func drain() { tunnelEnd?.drain() }

    /// Lets the client send this many more bytes in a tunnel.
    func consume(_ count: Int) { connection?.consume(count, of: self) }

    /// Ends a tunnel whose other side has disconnected. RFC 8441 §5
    func cancel() { connection?.reset(self, NGHTTP2_CANCEL) }

    private func resume() {
        guard isDeferred else { return }
        isDeferred = false
        connection?.resume(self)
    }

    /// Resumes sending, because the window has opened.
    func openWindow() { if queuedCount > 0 { resume() } }

    /// Returns the size of the next DATA frame, and whether it is the last frame; `nil` if there is
    /// no frame yet.
    func nextFrame(atMost limit: Int) -> (count: Int, isLast: Bool)? {
        let count = min(limit, queuedCount)
        if count == 0, isQueueOver, queuedCount == 0 { return (0, true) }
        guard count > 0, mayEnd(with: count) else {
            isDeferred = true
            return nil
        }
        return (count, isQueueOver && count == queuedCount)
    }

    private func mayEnd(with count: Int) -> Bool { !isSmall(count) || smallFramesLeft > 0 }

    private func isSmall(_ count: Int) -> Bool { connection?.isSmallFrame(count, of: queuedCount) ?? false }

    /// Takes a DATA frame's content from the queue.
    func takeContent(_ count: Int, _ put: (ByteBuffer) -> Void) {
        smallFramesLeft = isSmall(count) ? smallFramesLeft - 1 : min(smallFramesLeft + 1, Self.smallFrames)
        var rest = count
        while rest > 0, var piece = queue.popFirst() {
            let length = min(rest, piece.readableBytes)
            if let bytes = piece.readSlice(length: length) { put(bytes) }
            if piece.readableBytes > 0 { queue.prepend(piece) }
            rest -= length
        }
        queuedCount -= count
        movedAt = connection?.now ?? .now()
        if queuedCount == 0 { room.take()?.succeed() }
    }

    // MARK: Time, and the end

    /// Fails a wait for content that has taken too long.
    ///
    /// - Returns: whether the client has accepted no bytes of the response for too long.
    func isStalled(at now: NIODeadline, _ limits: HTTP2Connection.Limits) -> Bool {
        if wanted != nil, now - wantedAt > min(limits.content, pace.allowance ?? limits.content) {
            let refusal = MessageRefusal(.timedOut, status: 408)
            self.refusal = refusal
            wanted.take()?.fail(refusal)
        }
        return queuedCount > 0 && now - movedAt > limits.write
    }

    /// Handles the end of the stream.
    func close() {
        // Unread content must not keep the connection's window closed.
        connection?.consume(received.readableBytes)
        let isDraining = connection?.isDraining == true && connection?.isOver == true
        connection = nil
        tunnelEnd.take()?.lose(isDraining: isDraining)
        exchange.take()?.cancel()
        wanted.take()?.fail(CancellationError())
        room.take()?.fail(CancellationError())
        queue.removeAll()
        queuedCount = 0
        received = ByteBuffer()
        fields = []
    }
}
