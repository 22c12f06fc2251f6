import NIOCore

/// What happens on a client's connection, as a value: events in, one action out.
/// ``ConnectionHandler`` performs it.
///
/// Requests are taken one at a time: nothing behind the end of the present request is decoded
/// before its response is written. So responses keep the order of pipelined requests, and no
/// request is taken for the content of the one before it (RFC 9112 §6.3 and §9.3.2). Three rules
/// make that so:
///
/// * A head is decoded in `idle` alone, and there the decoder stands before a head or inside one.
/// * Content is decoded while it is `wanted` or `discarding`, and by
///   `RequestDecoder.nextContent()`, which says that the message is over as often as it is asked.
/// * `idle` follows an exchange only where the response is written and the content is decoded to
///   its end.
struct ConnectionMachine {
    enum Action {
        case none
        /// Go on with the next request: see ``nextRequest()``.
        case proceed
        /// Ask the channel for bytes.
        case read
        /// Answer this request.
        case begin(RequestHead)
        /// Say 100, and ask for bytes. RFC 9110 §10.1.1
        case sayContinue
        /// Hand over content that was asked for; `nil` at its end.
        case content(ByteBuffer?)
        /// The content that was asked for does not come.
        case contentFailed(MessageRefusal)
        /// Answer that these bytes are no request, then close.
        case refuse(MessageRefusal)
        /// Close, reading on for a while so that the client gets the answer before it gets a reset.
        /// RFC 9112 §9.6
        case linger
        case close
    }

    private struct Exchange {
        var isKeptAlive: Bool
        var owesContinue: Bool
        var content: Content
        var isAnswered = false
    }

    /// How far the present request's content is.
    private enum Content {
        /// Nobody has asked for more of it.
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

        /// Whether all of it is decoded. What follows belongs to the next request.
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
        case lingering
        case closed
    }

    private var state = State.idle
    private var decoder: RequestDecoder
    private var isInputClosed = false
    private var isDraining = false
    /// Bytes of unwanted content, or after a refusal, that are read before the connection is closed
    /// for them.
    private var discardable: Int
    private let discardLimit: Int

    init(limits: MessageLimits, discardLimit: Int) {
        self.decoder = RequestDecoder(limits: limits)
        self.discardLimit = discardLimit
        self.discardable = discardLimit
    }

    /// Whether the connection waits for a request of which nothing has come.
    var isBetweenRequests: Bool {
        if case .idle = state { !decoder.isInsideMessage } else { false }
    }

    /// Whether a request is being received, or waited for.
    var isIdle: Bool {
        if case .idle = state { true } else { false }
    }

    /// See ``RequestDecoder/isHeadRepeated``.
    var isHeadRepeated: Bool { decoder.isHeadRepeated }

    /// Whether the answer is written and the rest of its request's content is still to come.
    var isDiscardingBehindAnswer: Bool {
        if case .exchange(let exchange) = state { exchange.isAnswered } else { false }
    }

    /// Whether the connection stays open after the present answer.
    var isKeptAlive: Bool {
        guard case .exchange(let exchange) = state else { return false }
        // Content that was announced and not asked for may or may not come: nothing behind it can
        // be trusted.
        return exchange.isKeptAlive && !isDraining && !(exchange.owesContinue && !exchange.content.isComplete)
    }

    // MARK: Events of the channel

    mutating func received(_ bytes: ByteBuffer) -> Action {
        switch state {
        case .idle:
            decoder.append(bytes)
            return .proceed
        case .exchange(let exchange):
            decoder.append(bytes)
            switch exchange.content {
            case .wanted: return nextContent()
            case .discarding: return discard()
            // Where the content is complete, these are the next request's: they wait for their
            // turn.
            case .unread, .givenUp, .complete, .discarded: return .none
            }
        case .lingering:
            discardable -= bytes.readableBytes
            if discardable > 0 { return .read }
            state = .closed
            return .close
        case .closed:
            return .none
        }
    }

    /// The client sends no more; it may still read. RFC 9112 §9.6
    mutating func inputClosed() -> Action {
        isInputClosed = true
        switch state {
        case .idle:
            // Requests that came whole may still wait for a client that takes its responses slowly.
            return .proceed
        case .lingering:
            state = .closed
            return .close
        case .exchange(let exchange):
            switch exchange.content {
            case .wanted:
                return failContent(exchange, MessageRefusal(.truncated))
            case .discarding where exchange.isAnswered:
                state = .closed
                return .close
            case .unread, .discarding, .givenUp, .complete, .discarded:
                return .none
            }
        case .closed:
            return .none
        }
    }

    /// The gateway stops: what is under way is finished, nothing new is begun.
    mutating func drain() -> Action {
        isDraining = true
        guard isBetweenRequests else { return .none }
        state = .closed
        return .close
    }

    /// What was waited for did not come in time: the rest of a head, or of content.
    mutating func timedOut() -> Action {
        switch state {
        case .idle:
            return refuse(MessageRefusal(.timedOut, status: 408))
        case .exchange(let exchange) where exchange.content == .wanted:
            return failContent(exchange, MessageRefusal(.timedOut, status: 408))
        case .exchange, .lingering, .closed:
            state = .closed
            return .close
        }
    }

    mutating func closed() {
        state = .closed
    }

    // MARK: Events of the exchange

    /// The bytes of the next request's head, where that may be answered at once: all of it is
    /// there, and the connection stays open behind it.
    var wholeHead: ByteBuffer? {
        guard case .idle = state, !isDraining else { return nil }
        return decoder.wholeHead
    }

    /// The request with this head was answered; it had no content, and wanted to be followed by
    /// others.
    mutating func answeredAtOnce(_ head: ByteBuffer) {
        decoder.skipHead(head)
    }

    /// The next request that was received, if there is one.
    mutating func nextRequest() -> Action {
        guard case .idle = state else { return .none }
        do throws(MessageRefusal) {
            guard let head = try decoder.nextHead() else {
                guard isInputClosed || isDraining && !decoder.isInsideMessage else { return .read }
                state = .closed
                return .close
            }
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
            return refuse(error)
        }
    }

    private mutating func refuse(_ refusal: MessageRefusal) -> Action {
        state = .exchange(Exchange(isKeptAlive: false, owesContinue: false, content: .givenUp))
        return .refuse(refusal)
    }

    /// The exchange asks for the next piece of the present request's content.
    mutating func contentWanted() -> Action {
        guard case .exchange(var exchange) = state, !exchange.isAnswered else {
            return .contentFailed(MessageRefusal(.truncated))
        }
        switch exchange.content {
        case .complete:
            return .content(nil)
        case .discarding, .givenUp, .discarded:
            return .contentFailed(MessageRefusal(.truncated))
        case .unread, .wanted:
            exchange.content = .wanted
            state = .exchange(exchange)
            return nextContent()
        }
    }

    /// Nobody wants the present request's content: it is read and dropped, lest it be taken for the
    /// next request.
    mutating func discardContent() -> Action {
        guard case .exchange(var exchange) = state else { return .none }
        switch exchange.content {
        case .complete, .discarded, .givenUp:
            return .none
        case .unread, .wanted, .discarding:
            exchange.content = .discarding
            state = .exchange(exchange)
            // What the client holds back until it is asked for need not come at all.
            return exchange.owesContinue ? .none : discard()
        }
    }

    /// The answer is written whole.
    ///
    /// - Parameter keepingAlive: what the answer's head announced.
    mutating func answered(keepingAlive: Bool) -> Action {
        guard case .exchange(var exchange) = state else { return .none }
        let isKeptAlive = isKeptAlive && keepingAlive
        exchange.isAnswered = true
        state = .exchange(exchange)
        guard isKeptAlive else { return closing() }
        if exchange.content.isComplete {
            state = .idle
            return .proceed
        }
        exchange.content = .discarding
        state = .exchange(exchange)
        return discard()
    }

    // MARK: Content

    private mutating func nextContent() -> Action {
        guard case .exchange(var exchange) = state else { return .none }
        do throws(MessageRefusal) {
            switch try decoder.nextContent() {
            case .body(let bytes):
                exchange.content = .unread
                exchange.owesContinue = false
                state = .exchange(exchange)
                return .content(bytes)
            case .end:
                exchange.content = .complete
                exchange.owesContinue = false
                state = .exchange(exchange)
                return .content(nil)
            case nil:
                if isInputClosed { throw MessageRefusal(.truncated) }
                guard exchange.owesContinue, decoder.undecodedCount == 0 else { return .read }
                exchange.owesContinue = false
                state = .exchange(exchange)
                return .sayContinue
            }
        } catch {
            return failContent(exchange, error)
        }
    }

    private mutating func failContent(_ exchange: Exchange, _ refusal: MessageRefusal) -> Action {
        var exchange = exchange
        exchange.content = .givenUp
        exchange.isKeptAlive = false
        state = .exchange(exchange)
        return .contentFailed(refusal)
    }

    private mutating func discard() -> Action {
        guard case .exchange(var exchange) = state else { return .none }
        do throws(MessageRefusal) {
            while let event = try decoder.nextContent() {
                switch event {
                case .body(let bytes):
                    discardable -= bytes.readableBytes
                    guard discardable > 0 else { return giveUp(exchange) }
                case .end:
                    discardable = discardLimit
                    exchange.content = .discarded
                    state = .exchange(exchange)
                    guard exchange.isAnswered else { return .none }
                    state = .idle
                    return .proceed
                }
            }
            if isInputClosed { return giveUp(exchange) }
            return .read
        } catch {
            return giveUp(exchange)
        }
    }

    /// The rest of the content is not waited for: the connection ends with the answer.
    private mutating func giveUp(_ exchange: Exchange) -> Action {
        var exchange = exchange
        exchange.isKeptAlive = false
        // What follows stays in the socket until the answer is written.
        exchange.content = .givenUp
        state = .exchange(exchange)
        return exchange.isAnswered ? closing() : .none
    }

    private mutating func closing() -> Action {
        guard case .exchange(let exchange) = state, !exchange.content.isComplete, !isInputClosed else {
            state = .closed
            return .close
        }
        discardable = discardLimit
        state = .lingering
        return .linger
    }
}
