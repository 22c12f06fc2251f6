import HTTPCacheSemantics
import NIOCore

/// A client's connection as a value: events in, one action out. ``ConnectionHandler`` performs the
/// actions. Each event has its own, so that the compiler knows which ones it cannot have.
///
/// Requests are taken one at a time: nothing behind the end of the current request is decoded
/// before its response is written. So responses keep the order of pipelined requests, and no
/// request is taken for the content of the one before it (RFC 9112 §6.3 and §9.3.2). Three rules
/// make that so:
///
/// * A head is decoded in `idle` alone, and there the decoder stands before a head or inside one.
/// * Content is decoded while it is `wanted` or dropped, and by `RequestDecoder.nextContent()`,
///   which says that the message is over as often as it is asked.
/// * `idle` follows an exchange only if the response is written and the content is decoded to its
///   end.
struct ConnectionMachine {
    /// The actions after the response is written, or bytes came that no exchange waits for.
    enum NextAction {
        case none
        /// Begin the next request: see ``beginRequest()``.
        case proceed
        /// Ask the channel for bytes.
        case read
        /// Close, and read on for a while so that the client gets the response before it gets a
        /// reset. RFC 9112 §9.6
        case linger
        case close
    }

    /// The actions after bytes came.
    enum ReceiveAction {
        case next(NextAction)
        case content(ContentAction)
    }

    /// The actions after the exchange asked for content, or waited for it and bytes came.
    enum ContentAction {
        /// Hand over content, or its end.
        case hand(ContentDecoder.Event)
        /// The content does not come.
        case fail(MessageRefusal)
        /// Ask the channel for bytes.
        case read
        /// Write 100, and ask for bytes. RFC 9110 §10.1.1
        case sayContinue
    }

    /// The actions after the client closed its sending side.
    enum CloseInputAction {
        case none
        /// Begin the next request: see ``beginRequest()``.
        case proceed
        /// The content that was asked for does not come.
        case failContent(MessageRefusal)
        case close
    }

    /// The actions when the gateway stops.
    enum DrainAction {
        case none
        /// Wait for the first request, for a short time: the client has connected and may have sent
        /// it, and no response says that it is not served.
        case awaitRequest
        case close
    }

    /// The actions after a deadline passed.
    enum TimeOutAction {
        /// Respond that the request is not valid, then close.
        case refuse(MessageRefusal)
        /// The content that was asked for does not come.
        case failContent(MessageRefusal)
        case close
    }

    /// The actions when the next request may begin.
    enum BeginRequestAction {
        case none
        /// Serve this request.
        case begin(RequestHead)
        /// Respond that these bytes are no valid request, then close.
        case refuse(MessageRefusal)
        /// Ask the channel for bytes: no byte of the next request has come.
        case waitForRequest
        /// Ask the channel for bytes: a part of the next request's head has come.
        case waitForHead
        case close
        /// The client speaks HTTP/2, and has sent these bytes. RFC 9113 §3.3
        case changeProtocol(ByteBuffer)
    }

    private struct Exchange {
        var isKeptAlive: Bool
        var owesContinue: Bool
        var content: Content

        /// The rest of the content is not waited for: the connection ends with the response. The
        /// bytes that follow stay in the socket until then.
        mutating func giveUpContent() {
            isKeptAlive = false
            content = .givenUp
        }
    }

    /// How far the current request's content is.
    private enum Content {
        /// No more of it is asked for yet.
        case unread
        /// The exchange waits for the next piece.
        case wanted
        /// It is read and dropped.
        case discarding
        /// The rest is not waited for, because it is malformed or too long: the connection ends
        /// with the response.
        case givenUp
        /// All of it was handed over.
        case complete
        /// All of it was read, and at least the end of it dropped.
        case discarded

        /// Whether all of it is decoded. The bytes that follow belong to the next request.
        var isComplete: Bool {
            switch self {
            case .complete, .discarded: true
            case .unread, .wanted, .discarding, .givenUp: false
            }
        }
    }

    private enum State {
        case idle
        case exchange(Exchange)
        /// The response is written. The rest of its request's content is read and dropped.
        case discarding
        case lingering
        case closed
    }

    private var state = State.idle
    private var decoder: RequestDecoder
    private(set) var isInputClosed = false
    private(set) var isDraining = false
    /// Whether a request has come.
    private var hasBegun = false
    /// Bytes of unwanted content, or after a refusal, that are read before the connection is closed
    /// for them.
    private var discardable: Int
    private let discardLimit: Int
    /// Without it the preface of HTTP/2 is a request of HTTP/1 like any other, and not valid.
    private let acceptsHTTP2: Bool

    init(limits: MessageLimits, discardLimit: Int, acceptsHTTP2: Bool = true) {
        self.acceptsHTTP2 = acceptsHTTP2
        self.decoder = RequestDecoder(limits: limits)
        self.discardLimit = discardLimit
        self.discardable = discardLimit
    }

    /// See ``RequestDecoder/isHeadRepeated``.
    var isHeadRepeated: Bool { decoder.isHeadRepeated }

    /// Whether the connection stays open after the current response.
    var isKeptAlive: Bool {
        guard case .exchange(let exchange) = state else { return false }
        // Content that was announced and not asked for may or may not come: nothing behind it can
        // be trusted.
        return exchange.isKeptAlive && !isDraining && !(exchange.owesContinue && !exchange.content.isComplete)
    }

    // MARK: Events of the channel

    /// Takes bytes that came.
    mutating func receive(_ bytes: ByteBuffer) -> ReceiveAction {
        switch state {
        case .idle:
            decoder.append(bytes)
            return .next(.proceed)
        case .exchange(let exchange):
            decoder.append(bytes)
            switch exchange.content {
            case .wanted: return .content(nextContent(exchange))
            case .discarding: return .next(discard(exchange) ? .read : .none)
            // If the content is complete, these are the next request's bytes: they wait for their
            // turn.
            case .unread, .givenUp, .complete, .discarded: return .next(.none)
            }
        case .discarding:
            decoder.append(bytes)
            return .next(discardRest())
        case .lingering:
            discardable -= bytes.readableBytes
            if discardable > 0 { return .next(.read) }
            state = .closed
            return .next(.close)
        case .closed:
            return .next(.none)
        }
    }

    /// The client sends no more; it may still read. RFC 9112 §9.6
    mutating func closeInput() -> CloseInputAction {
        isInputClosed = true
        switch state {
        case .idle:
            // Requests that came whole may still wait for a client that reads its responses slowly.
            return .proceed
        case .exchange(let exchange):
            guard exchange.content == .wanted else { return .none }
            giveUpContent(of: exchange)
            return .failContent(MessageRefusal(.truncated))
        case .discarding, .lingering:
            state = .closed
            return .close
        case .closed:
            return .none
        }
    }

    /// The gateway stops: the current exchange is finished, and no new one is begun, but the first
    /// one of the connection.
    mutating func drain() -> DrainAction {
        isDraining = true
        guard case .idle = state, !decoder.isInsideMessage else { return .none }
        guard hasBegun else { return .awaitRequest }
        state = .closed
        return .close
    }

    /// The rest of a head, or of content, did not come in time.
    mutating func timeOut() -> TimeOutAction {
        let refusal = MessageRefusal(.timedOut, status: 408)
        switch state {
        case .idle:
            return .refuse(refuse(refusal))
        case .exchange(let exchange) where exchange.content == .wanted:
            giveUpContent(of: exchange)
            return .failContent(refusal)
        case .exchange, .discarding, .lingering, .closed:
            state = .closed
            return .close
        }
    }

    mutating func close() {
        state = .closed
    }

    // MARK: Events of the exchange

    /// The bytes of the next request's head, if it may be served at once: all of it is there, and
    /// the connection stays open behind it.
    var wholeHead: ByteBuffer? {
        guard case .idle = state, !isDraining else { return nil }
        return decoder.wholeHead
    }

    /// The request with this head was served; it had no content, and wanted to be followed by
    /// others.
    mutating func skipRequest(_ head: ByteBuffer) {
        hasBegun = true
        decoder.skipHead(head)
    }

    /// Begins the next request that was received, if there is one.
    mutating func beginRequest() -> BeginRequestAction {
        guard case .idle = state else { return .none }
        if acceptsHTTP2, !hasBegun, let action = recogniseHTTP2() { return action }
        do throws(MessageRefusal) {
            guard let head = try decoder.nextHead() else {
                let isInsideHead = decoder.isInsideMessage
                guard isInputClosed || isDraining && hasBegun && !isInsideHead else {
                    return isInsideHead ? .waitForHead : .waitForRequest
                }
                state = .closed
                return .close
            }
            hasBegun = true
            let hasContent = head.framing != .none && head.framing != .length(0)
            if !hasContent { _ = try decoder.nextContent() }
            state = .exchange(
                Exchange(
                    isKeptAlive: head.isKeptAlive,
                    owesContinue: head.expectsContinue && hasContent,
                    content: hasContent ? .unread : .complete
                )
            )
            return .begin(head)
        } catch {
            return .refuse(refuse(error))
        }
    }

    /// Looks for the preface of HTTP/2 at the beginning of a connection.
    private mutating func recogniseHTTP2() -> BeginRequestAction? {
        let known = decoder.undecoded
        guard known.readableBytes > 0, known.readableBytesView.starts(with: Self.preface.prefix(known.readableBytes))
        else { return nil }
        guard known.readableBytes >= Self.preface.count else { return isInputClosed ? nil : .waitForHead }
        state = .closed
        return .changeProtocol(known)
    }

    /// RFC 9113 §3.4. No method of HTTP/1 is 'PRI'.
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private mutating func refuse(_ refusal: MessageRefusal) -> MessageRefusal {
        state = .exchange(Exchange(isKeptAlive: false, owesContinue: false, content: .givenUp))
        return refusal
    }

    /// The exchange asks for the next piece of the current request's content.
    mutating func wantContent() -> ContentAction {
        guard case .exchange(var exchange) = state else { return .fail(MessageRefusal(.truncated)) }
        switch exchange.content {
        case .complete:
            return .hand(.end(trailers: nil))
        case .discarding, .givenUp, .discarded:
            return .fail(MessageRefusal(.truncated))
        case .unread, .wanted:
            exchange.content = .wanted
            return nextContent(exchange)
        }
    }

    /// The exchange does not want the current request's content: it is read and dropped, so that it
    /// is not taken for the next request.
    ///
    /// - Returns: whether to ask the channel for bytes.
    mutating func discardContent() -> Bool {
        guard case .exchange(var exchange) = state else { return false }
        switch exchange.content {
        case .complete, .discarded, .givenUp:
            return false
        case .unread, .wanted, .discarding:
            exchange.content = .discarding
            state = .exchange(exchange)
            // The content that the client holds back until it is asked for need not come at all.
            return !exchange.owesContinue && discard(exchange)
        }
    }

    /// The bytes that follow may be those of another protocol. They are no request, whether the
    /// origin switches to it or not: the connection ends with the response.
    mutating func beginUpgrade() {
        guard case .exchange(let exchange) = state else { return }
        giveUpContent(of: exchange)
    }

    /// The connection switches to another protocol.
    ///
    /// - Returns: the bytes that have come for it.
    mutating func switchProtocol() -> ByteBuffer {
        state = .closed
        return decoder.undecoded
    }

    /// The response is written.
    ///
    /// - Parameter keepingAlive: what the response's head announced.
    mutating func endResponse(keepingAlive: Bool) -> NextAction {
        guard case .exchange(let exchange) = state else { return .none }
        guard isKeptAlive, keepingAlive else { return close(isContentComplete: exchange.content.isComplete) }
        guard exchange.content.isComplete else {
            state = .discarding
            return discardRest()
        }
        state = .idle
        return .proceed
    }

    // MARK: Content

    private mutating func nextContent(_ exchange: Exchange) -> ContentAction {
        var exchange = exchange
        defer { state = .exchange(exchange) }
        do throws(MessageRefusal) {
            switch try decoder.nextContent() {
            case .body(let bytes):
                exchange.content = .unread
                exchange.owesContinue = false
                return .hand(.body(bytes))
            case .end(let trailers):
                exchange.content = .complete
                exchange.owesContinue = false
                return .hand(.end(trailers: trailers))
            case nil:
                if isInputClosed { throw MessageRefusal(.truncated) }
                guard exchange.owesContinue, decoder.undecodedCount == 0 else { return .read }
                exchange.owesContinue = false
                return .sayContinue
            }
        } catch {
            exchange.giveUpContent()
            return .fail(error)
        }
    }

    private mutating func giveUpContent(of exchange: Exchange) {
        var exchange = exchange
        exchange.giveUpContent()
        state = .exchange(exchange)
    }

    /// Drops content before the response is written.
    ///
    /// - Returns: whether to ask the channel for bytes.
    private mutating func discard(_ exchange: Exchange) -> Bool {
        var exchange = exchange
        defer { state = .exchange(exchange) }
        switch drop() {
        case .needsBytes: return true
        case .end: exchange.content = .discarded
        case .givenUp: exchange.giveUpContent()
        }
        return false
    }

    /// Drops content after the response is written.
    private mutating func discardRest() -> NextAction {
        switch drop() {
        case .needsBytes:
            return .read
        case .end:
            state = .idle
            return .proceed
        case .givenUp:
            return close(isContentComplete: false)
        }
    }

    private enum Dropped {
        case needsBytes
        case end
        /// The rest is malformed, too long, or never comes.
        case givenUp
    }

    private mutating func drop() -> Dropped {
        do throws(MessageRefusal) {
            while let event = try decoder.nextContent() {
                switch event {
                case .body(let bytes):
                    discardable -= bytes.readableBytes
                    guard discardable > 0 else { return .givenUp }
                case .end:
                    discardable = discardLimit
                    return .end
                }
            }
            return isInputClosed ? .givenUp : .needsBytes
        } catch {
            return .givenUp
        }
    }

    private mutating func close(isContentComplete: Bool) -> NextAction {
        guard !isContentComplete, !isInputClosed else {
            state = .closed
            return .close
        }
        discardable = discardLimit
        state = .lingering
        return .linger
    }
}
