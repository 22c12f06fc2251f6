import GatewayRouting
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import NIOCore

/// A value that receives one final response from an origin, and any interim responses before it:
/// events in, one action out. ``OriginConnectionHandler`` performs the actions.
///
/// It decodes only as much as is needed: the head, and then one piece of content ahead of the
/// reader. So a slow reader slows down the origin.
struct ResponseReception {
    /// The effect of received bytes.
    enum Arrival {
        /// Deliver the response unchanged. The response is complete.
        case relay(RelayedMessage)
        /// Change the time limit, and perform the steps of ``ResponseReception/next()``.
        case decode(OriginWait.Change)
    }

    /// The next effect of the received bytes.
    enum Step {
        /// Deliver an interim response, and change the time limit.
        case interim(HTTPResponse, OriginWait.Change)
        /// Stop the time limit and deliver the head.
        ///
        /// `whole`: the content, if all of it arrived with the head. In that case, the response is
        /// complete.
        case head(ResponseHead, whole: ByteBuffer?, MessageBoundary)
        /// Stop the time limit and deliver content that the reader requested. The last piece
        /// completes the response.
        case piece(OriginPiece)
        /// Ask the channel for bytes.
        case read
        /// Close the connection. A waiting caller gets the failure.
        case fail(OriginFailure)
    }

    /// The effect of a reader's request for content.
    enum Ask {
        /// Change the time limit, and perform the steps of ``ResponseReception/next()``.
        case wait(OriginWait.Change)
        /// No content is left. The response is complete.
        ///
        /// - Parameter trailers: see ``OriginPiece/trailers``.
        case end(trailers: HTTPFields?)
        case fail(OriginFailure)
        /// Another reader is waiting, or the content is not available for reading.
        case reject
    }

    /// The effect of an expired time limit.
    enum Lateness {
        /// The origin has made progress, so the limit restarts.
        case extend(OriginWait.Running)
        case fail(OriginFailure)
        /// Close the connection. No limit of the response was running.
        case close
    }

    /// How the connection is used after the response.
    enum Ending: Hashable {
        /// The connection is closed, because bytes arrived after the response. It did not end where
        /// it stated.
        case crossed
        /// The connection is already closed.
        case closed
        /// The connection is closed, because it must take no more requests.
        case close
        /// The origin closes the connection. Bytes that arrive first show whether the response
        /// ended where it stated.
        case awaitClose
        /// The connection is used for the next request.
        case keep
    }

    private enum State {
        /// The final response's head has not arrived.
        case head
        /// The caller has the head. `ahead`: decoded content that is not delivered yet.
        case content(ahead: ByteBuffer?, isAsked: Bool)
        /// Everything is decoded, and the reader has not asked for the end yet.
        case end(trailers: HTTPFields?)
        /// The caller has the complete response.
        case over
        case failed(OriginFailure)
    }

    private let endpoint: OriginEndpoint
    private let mayBeRelayed: Bool
    /// Whether this is the connection's last request, regardless of the origin's response.
    private let isLast: Bool
    /// Whether the request has content.
    let hasContent: Bool
    private var state = State.head
    private var decoder: ResponseDecoder
    private var wait: OriginWait
    private(set) var hasBegun = false
    /// Whether the first bytes are a TLS record. No response begins with such a byte.
    private var isTLS = false
    private var isUploaded: Bool
    private var isKeptAlive = false
    private var isInputClosed = false
    private var closeError: (any Error)?
    /// Set when the head has arrived, unless the response is relayed and therefore cannot be
    /// stored.
    private(set) var boundary: MessageBoundary?
    /// The number of bytes that the origin's kernel had not acknowledged when the running limit
    /// began.
    var untaken = 0

    init(of request: OriginRequest, limits: MessageLimits) {
        endpoint = request.endpoint
        mayBeRelayed = request.mayBeRelayed
        isLast = request.isCheck
        hasContent = request.body != nil
        decoder = ResponseDecoder(method: request.method, limits: limits, upgrade: request.upgrade?.protocolName)
        wait = OriginWait(hasContent: hasContent)
        isUploaded = !hasContent
    }

    /// The running time limit.
    var running: OriginWait.Running? { wait.running }

    /// The bytes after the response.
    var rest: ByteBuffer { decoder.undecoded }

    var hasFailed: Bool {
        if case .failed = state { true } else { false }
    }

    /// How the connection is used once the response is complete.
    var ending: Ending {
        if decoder.undecodedCount > 0 { return .crossed }
        if isInputClosed { return .closed }
        if !isUploaded || isLast { return .close }
        if isKeptAlive { return .keep }
        return boundary == nil ? .close : .awaitClose
    }

    // MARK: Events of the request's content

    /// Records that content was written and waits to be accepted.
    mutating func handOver() -> OriginWait.Change { wait.handOver() }

    /// Records that the kernel has accepted all written content.
    mutating func take() -> OriginWait.Change { wait.take() }

    /// Records that no more content follows.
    mutating func endUpload() -> OriginWait.Change {
        isUploaded = true
        return wait.endContent()
    }

    // MARK: Events of the connection

    mutating func receive(_ bytes: ByteBuffer) -> Arrival {
        let isFirst = !hasBegun
        hasBegun = true
        let change = wait.beginResponse()
        if isFirst { isTLS = bytes.beginsTLSRecord }
        if isFirst, mayBeRelayed, let message = RelayedMessage(bytes, limits: decoder.limits) {
            isKeptAlive = message.isKeptAlive
            state = .over
            return .relay(message)
        }
        decoder.append(bytes)
        return .decode(change)
    }

    /// Records that no more bytes will arrive.
    ///
    /// - Parameter error: the connection's error. A response delimited only by the close is
    ///   incomplete after a reset, or if TLS ended without a close alert.
    mutating func closeInput(_ error: (any Error)?) {
        isInputClosed = true
        closeError = error
        if error == nil { decoder.closeInput() }
    }

    /// Handles an expired time limit.
    ///
    /// - Parameters:
    ///   - limit: the limit that expired.
    ///   - untaken: the number of bytes that the origin's kernel has not acknowledged.
    mutating func passLimit(_ limit: OriginTimeLimit, untaken: Int) -> Lateness {
        guard let running = wait.running else { return .close }
        // The origin may still be reading, because it reads a large piece in many small parts. The
        // end of the content may still be on its way when the limit for the head expires.
        if untaken < self.untaken, running == .taking || running == .head && !hasBegun { return .extend(running) }
        guard let failure = fail(TransportError(waitingFor: running, limit, endpoint)) else { return .close }
        return .fail(failure)
    }

    /// Fails the response.
    ///
    /// - Returns: the failure; `nil` if the response is complete or has already failed.
    mutating func fail(_ error: TransportError) -> OriginFailure? {
        switch state {
        case .over, .failed: return nil
        case .head, .content, .end: break
        }
        let failure = OriginFailure(error: error, isBeforeResponse: !hasBegun)
        state = .failed(failure)
        return failure
    }

    // MARK: Events of the reader

    /// Records that the reader waits for content.
    mutating func ask() -> Ask {
        switch state {
        case .content(let ahead, isAsked: false):
            state = .content(ahead: ahead, isAsked: true)
            return .wait(wait.ask())
        case .end(let trailers):
            state = .over
            return .end(trailers: trailers)
        case .failed(let failure): return .fail(failure)
        case .head, .content, .over: return .reject
        }
    }

    /// Returns the next content if it is already decoded, for a reader that does not wait.
    mutating func takeAhead() -> OriginPiece? {
        guard case .content(let bytes?, isAsked: false) = state else { return nil }
        return piece(bytes)
    }

    // MARK: Steps

    /// Returns the next step; `nil` if none is due until the next event.
    mutating func next() -> Step? {
        if isTLS, case .head = state { return fail(TransportError(speakingTLS: endpoint)).map { .fail($0) } }
        do throws(MessageRefusal) {
            while true {
                let isAsked: Bool
                switch state {
                case .head: isAsked = true
                case .content(nil, let isReaderWaiting): isAsked = isReaderWaiting
                case .content(let bytes?, isAsked: true):
                    _ = wait.deliver()
                    return .piece(piece(bytes))
                case .content, .end, .over, .failed: return nil
                }
                switch try decoder.next() {
                case .interim(let interim): return .interim(interim, receiveInterim())
                case .head(let head): return try receive(head)
                case .body(let bytes): state = .content(ahead: bytes, isAsked: isAsked)
                case .end(let trailers):
                    state = isAsked ? .over : .end(trailers: trailers)
                    return isAsked ? .piece(OriginPiece(bytes: nil, isLast: true, trailers: trailers)) : nil
                case nil:
                    guard isInputClosed else { return isAsked ? .read : nil }
                    return fail(closing: closeError)
                }
            }
        } catch {
            if error.reason == .truncated { return fail(closing: nil) }
            return fail(TransportError(rejecting: error, endpoint)).map { .fail($0) }
        }
    }

    private mutating func fail(closing cause: (any Error)?) -> Step? {
        fail(TransportError(closing: endpoint, cause, isBeforeResponse: !hasBegun)).map { .fail($0) }
    }

    private mutating func receiveInterim() -> OriginWait.Change {
        let change = wait.receiveInterim()
        guard decoder.undecodedCount > 0 else { return change }
        let next = wait.beginResponse()
        return next == .none ? change : next
    }

    private mutating func receive(_ head: ResponseHead) throws(MessageRefusal) -> Step {
        _ = wait.receiveHead()
        isKeptAlive = head.isKeptAlive
        let boundary = MessageBoundary()
        self.boundary = boundary
        var whole: ByteBuffer?
        if head.framing.isEmpty {
            // There is no content to wait for, only the end.
            _ = try decoder.next()
            whole = ByteBuffer()
        } else if isUploaded {
            whole = wholeContent()
        }
        state = whole == nil ? .content(ahead: nil, isAsked: false) : .over
        return .head(head, whole: whole, boundary)
    }

    /// Returns the content, if all of it arrived with the head and no trailers follow.
    private mutating func wholeContent() -> ByteBuffer? {
        // A copy: if the content is incomplete or malformed, its reader must find the decoder
        // unchanged.
        var decoder = decoder
        var bytes = ByteBuffer()
        while let event = try? decoder.next() {
            switch event {
            case .body(let more) where bytes.readableBytes == 0: bytes = more
            case .body(let more): bytes.writeImmutableBuffer(more)
            case .end(nil):
                self.decoder = decoder
                return bytes
            case .interim, .head, .end: return nil
            }
        }
        return nil
    }

    /// Returns a piece to deliver. The piece states whether it is the last one, so that the
    /// connection need not wait until the reader asks again.
    private mutating func piece(_ bytes: ByteBuffer) -> OriginPiece {
        // Content before a fault is delivered. The decoder throws again in the next step.
        switch try? decoder.next() {
        case .body(let next): state = .content(ahead: next, isAsked: false)
        case .end(let trailers):
            state = .over
            return OriginPiece(bytes: bytes, isLast: true, trailers: trailers)
        case .interim, .head, nil: state = .content(ahead: nil, isAsked: false)
        }
        return OriginPiece(bytes: bytes, isLast: false)
    }
}

extension ByteBuffer {
    /// Whether the bytes begin with a TLS alert or handshake. RFC 8446 §5.1
    fileprivate var beginsTLSRecord: Bool {
        guard let type: UInt8 = getInteger(at: readerIndex), type == 21 || type == 22 else { return false }
        guard let version: UInt8 = getInteger(at: readerIndex + 1) else { return true }
        return version == 3
    }
}

/// A piece of a response's content.
struct OriginPiece: Sendable, Hashable {
    /// The bytes; `nil` if none arrived before the end.
    var bytes: ByteBuffer?
    var isLast: Bool
    /// The trailer fields that may be forwarded, with the last piece; `nil` if there are none.
    var trailers: HTTPFields?
}
