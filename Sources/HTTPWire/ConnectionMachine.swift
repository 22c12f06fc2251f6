import HTTPCacheSemantics
package import NIOCore

/// A client's connection as a value: events in, one action out. `RequestSequence` performs the
/// actions. Each event has its own action type, so the compiler knows which actions are possible.
///
/// Requests are processed one at a time: nothing after the end of the current request is decoded
/// before its response is written. So responses keep the order of pipelined requests, and no
/// request is mistaken for content of the previous one (RFC 9112 §6.3 and §9.3.2). Three rules
/// ensure this:
///
/// * A head is decoded only in `idle`, where the decoder is before or inside a head.
/// * Content is decoded only while it is `wanted` or dropped, by `RequestDecoder.nextContent()`. At
///   the end of a message, every call reports the end.
/// * `idle` follows an exchange only once the response is written and the content is fully decoded.
package struct ConnectionMachine {
    /// The actions after a response is written, or after bytes arrived that no exchange waits for.
    package enum NextAction {
        case none
        /// Start the next request; see ``beginRequest()``.
        case proceed
        /// Ask the channel for bytes.
        case read
        /// Close the sending side, and keep reading for a while so that the client gets the
        /// response instead of a reset. RFC 9112 §9.6
        case linger
        case close
    }

    /// The actions after bytes arrived.
    package enum ReceiveAction {
        case next(NextAction)
        case content(ContentAction)
    }

    /// The actions after the exchange asked for content, or after bytes arrived that it waits for.
    package enum ContentAction {
        /// Deliver content, or its end.
        case hand(ContentDecoder.Event)
        /// The content will not arrive.
        case fail(MessageRefusal)
        /// Ask the channel for bytes.
        case read
        /// Write 100, and ask for bytes. RFC 9110 §10.1.1
        case sayContinue
    }

    /// The actions after the client closed its sending side.
    package enum CloseInputAction {
        case none
        /// Start the next request; see ``beginRequest()``.
        case proceed
        /// The requested content will not arrive.
        case failContent(MessageRefusal)
        case close
    }

    /// The actions when the gateway shuts down.
    package enum DrainAction {
        case none
        /// Wait a short time for the first request. The client has connected and may have sent it,
        /// and no response has told the client that it will not be served.
        case awaitRequest
        case close
    }

    /// The actions after a missed deadline.
    package enum TimeOutAction {
        /// Respond that the request is invalid, then close.
        case refuse(MessageRefusal)
        /// The requested content will not arrive.
        case failContent(MessageRefusal)
        case close
    }

    /// The actions when the next request may start.
    package enum BeginRequestAction {
        case none
        /// Serve this request. See ``RequestDecoder/isHeadRepeated`` for `repeatsFields`.
        case begin(RequestHead, repeatsFields: Bool)
        /// Respond that these bytes are not a valid request, then close.
        case refuse(MessageRefusal)
        /// Ask the channel for bytes; no byte of the next request has arrived.
        case waitForRequest
        /// Ask the channel for bytes; part of the next request's head has arrived.
        case waitForHead
        case close
        /// The client uses HTTP/2, and has sent these bytes. RFC 9113 §3.3
        case changeProtocol(ByteBuffer)
    }

    private struct Exchange {
        var isKeptAlive: Bool
        var owesContinue: Bool
        var content: Content

        /// Stops waiting for the rest of the content. The connection ends with the response, and
        /// the bytes that follow stay in the socket until then.
        mutating func giveUpContent() {
            isKeptAlive = false
            content = .givenUp
        }
    }

    /// The state of the current request's content.
    private enum Content {
        /// No more content has been requested yet.
        case unread
        /// The exchange waits for the next piece.
        case wanted
        /// The content is being read and dropped.
        case discarding
        /// The rest is not read, because it is malformed or too long. The connection ends with the
        /// response.
        case givenUp
        /// All content was delivered.
        case complete
        /// All content was read, and at least the last part was dropped.
        case discarded

        /// Whether all content is decoded. Any bytes that follow belong to the next request.
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
        /// The response is written. The rest of the request's content is being read and dropped.
        case discarding
        case lingering
        case closed
    }

    private var state = State.idle
    private var decoder: RequestDecoder
    package private(set) var isInputClosed = false
    package private(set) var isDraining = false
    /// Whether a request has started.
    private var hasBegun = false
    /// The number of bytes that may still be read and dropped before the connection is closed:
    /// unwanted content, or bytes after a rejection.
    private var discardable: Int
    private let discardLimit: Int
    /// If `false`, the HTTP/2 preface is treated as an HTTP/1 request, which is invalid.
    private let acceptsHTTP2: Bool

    package init(limits: MessageLimits, discardLimit: Int, acceptsHTTP2: Bool = true) {
        self.acceptsHTTP2 = acceptsHTTP2
        self.decoder = RequestDecoder(limits: limits)
        self.discardLimit = discardLimit
        self.discardable = discardLimit
    }

    /// Whether the connection stays open after the current response.
    package var isKeptAlive: Bool {
        // Changes nothing. A getter that is not 'mutating' gets a copy of the whole machine if the
        // caller is in another module and keeps the machine in a class.
        mutating get {
            guard case .exchange(let exchange) = state else { return false }
            // Content that was announced but never requested may or may not arrive. Nothing after
            // it can be trusted.
            return exchange.isKeptAlive && !isDraining && !(exchange.owesContinue && !exchange.content.isComplete)
        }
    }

    // MARK: Events of the channel

    /// Receives bytes.
    package mutating func receive(_ bytes: ByteBuffer) -> ReceiveAction {
        switch state {
        case .idle:
            decoder.append(bytes)
            return .next(.proceed)
        case .exchange(let exchange):
            decoder.append(bytes)
            switch exchange.content {
            case .wanted: return .content(nextContent(exchange))
            case .discarding: return .next(discard(exchange) ? .read : .none)
            // If the content is complete, these bytes belong to the next request, which must wait.
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

    /// Handles the end of the client's input. The client may still read. RFC 9112 §9.6
    package mutating func closeInput() -> CloseInputAction {
        isInputClosed = true
        switch state {
        case .idle:
            // Complete requests may still be waiting for a client that reads its responses slowly.
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

    /// Begins the shutdown. The current exchange finishes. No new exchange starts, unless the
    /// connection has had none.
    package mutating func drain() -> DrainAction {
        isDraining = true
        guard case .idle = state, !decoder.isInsideMessage else { return .none }
        guard hasBegun else { return .awaitRequest }
        state = .closed
        return .close
    }

    /// Handles a missed deadline: the rest of a head or of content did not arrive in time.
    package mutating func timeOut() -> TimeOutAction {
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

    package mutating func close() {
        state = .closed
    }

    // MARK: Events of the exchange

    /// The bytes of the next request's head, if it may be served immediately: the head is complete,
    /// and the connection stays open after it.
    package var wholeHead: ByteBuffer? {
        // See 'isKeptAlive' for 'mutating'.
        mutating get {
            guard case .idle = state, !isDraining, hasBegun || !mayBePreface else { return nil }
            return decoder.wholeHead
        }
    }

    /// Skips the request with this head, which was served. It had no content and keeps the
    /// connection open.
    package mutating func skipRequest(_ head: ByteBuffer) {
        hasBegun = true
        decoder.skipHead(head)
    }

    /// Starts the next request, if one was received.
    package mutating func beginRequest() -> BeginRequestAction {
        guard case .idle = state else { return .none }
        if !hasBegun, let action = recognizeHTTP2() { return action }
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
            let hasContent = !head.framing.isEmpty
            if !hasContent { _ = try decoder.nextContent() }
            state = .exchange(
                Exchange(
                    isKeptAlive: head.isKeptAlive,
                    owesContinue: head.expectsContinue && hasContent,
                    content: hasContent ? .unread : .complete
                )
            )
            return .begin(head, repeatsFields: decoder.isHeadRepeated)
        } catch {
            return .refuse(refuse(error))
        }
    }

    /// Checks for the HTTP/2 preface at the start of a connection.
    private mutating func recognizeHTTP2() -> BeginRequestAction? {
        guard mayBePreface else { return nil }
        let known = decoder.undecoded
        guard known.readableBytes >= Self.preface.count else { return isInputClosed ? nil : .waitForHead }
        state = .closed
        return .changeProtocol(known)
    }

    /// Whether the first bytes of the connection are the HTTP/2 preface, or the start of it.
    private var mayBePreface: Bool {
        let known = decoder.undecoded
        return acceptsHTTP2 && known.readableBytes > 0
            && known.readableBytesView.starts(with: Self.preface.prefix(known.readableBytes))
    }

    /// RFC 9113 §3.4. HTTP/1 has no method 'PRI'.
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private mutating func refuse(_ refusal: MessageRefusal) -> MessageRefusal {
        state = .exchange(Exchange(isKeptAlive: false, owesContinue: false, content: .givenUp))
        return refusal
    }

    /// Requests the next piece of the current request's content for the exchange.
    package mutating func wantContent() -> ContentAction {
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

    /// Reads and drops the current request's content, which the exchange does not need, so that the
    /// content is not mistaken for the next request.
    ///
    /// - Returns: whether to ask the channel for bytes.
    package mutating func discardContent() -> Bool {
        guard case .exchange(var exchange) = state else { return false }
        switch exchange.content {
        case .complete, .discarded, .givenUp:
            return false
        case .unread, .wanted, .discarding:
            exchange.content = .discarding
            state = .exchange(exchange)
            // The client may never send content that it holds back until it gets a 100.
            return !exchange.owesContinue && discard(exchange)
        }
    }

    /// Stops treating the bytes that follow as requests, because they may belong to another
    /// protocol. This also applies if the origin does not switch protocols: then the connection
    /// ends with the response.
    package mutating func beginUpgrade() {
        guard case .exchange(let exchange) = state else { return }
        giveUpContent(of: exchange)
    }

    /// Ends HTTP on this connection, because it switches to another protocol.
    ///
    /// - Returns: the bytes of that protocol received so far.
    package mutating func switchProtocol() -> ByteBuffer {
        state = .closed
        return decoder.undecoded
    }

    /// Ends the exchange after its response is written.
    ///
    /// - Parameter keepingAlive: the value that the response's head announced.
    package mutating func endResponse(keepingAlive: Bool) -> NextAction {
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
        /// The rest is malformed, too long, or never arrives.
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
