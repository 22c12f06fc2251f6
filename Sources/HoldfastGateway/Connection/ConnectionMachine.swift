import NIOCore

/// What happens on a client's connection, as a value: events in, one action out. ``ConnectionHandler`` performs it.
///
/// Requests are taken one at a time: the next is not decoded before the answer to the one before it is written, so answers keep the order
/// of pipelined requests. RFC 9112 §9.3.2
struct ConnectionMachine {
    enum Action {
        case none
        /// Go on with the next request: see ``nextRequest()``.
        case proceed
        /// Ask the channel for octets.
        case read
        /// Answer this request.
        case begin(RequestHead)
        /// Say 100, and ask for octets. RFC 9110 §10.1.1
        case sayContinue
        /// Hand over content that was asked for; `nil` at its end.
        case content(ByteBuffer?)
        /// The content that was asked for does not come.
        case contentFailed(MessageRefusal)
        /// Answer that these octets are no request, then close.
        case refuse(MessageRefusal)
        /// Close, reading on for a while so that the client gets the answer before it gets a reset. RFC 9112 §9.6
        case linger
        case close
    }

    private struct Exchange {
        var isKeptAlive: Bool
        var owesContinue: Bool
        var isContentComplete: Bool
        var isContentWanted = false
        var isDiscarding = false
        var isAnswered = false
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
    /// Octets of unwanted content, or after a refusal, that are read before the connection is closed for them.
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
        // Content that was announced and not asked for may or may not come: nothing behind it can be trusted.
        return exchange.isKeptAlive && !isDraining && !(exchange.owesContinue && !exchange.isContentComplete)
    }

    // MARK: Events of the channel

    mutating func received(_ octets: ByteBuffer) -> Action {
        switch state {
        case .idle:
            decoder.append(octets)
            return .proceed
        case .exchange(let exchange):
            decoder.append(octets)
            if exchange.isContentWanted { return nextContent() }
            return exchange.isDiscarding ? discard() : .none
        case .lingering:
            discardable -= octets.readableBytes
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
        case .idle, .lingering:
            state = .closed
            return .close
        case .exchange(var exchange):
            guard exchange.isContentWanted || exchange.isDiscarding else { return .none }
            if exchange.isContentWanted {
                exchange.isContentWanted = false
                exchange.isKeptAlive = false
                state = .exchange(exchange)
                return .contentFailed(MessageRefusal(.truncated))
            }
            guard exchange.isAnswered else { return .none }
            state = .closed
            return .close
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
            state = .exchange(Exchange(isKeptAlive: false, owesContinue: false, isContentComplete: false))
            return .refuse(MessageRefusal(.timedOut, status: 408))
        case .exchange(var exchange) where exchange.isContentWanted:
            exchange.isContentWanted = false
            exchange.isKeptAlive = false
            state = .exchange(exchange)
            return .contentFailed(MessageRefusal(.timedOut, status: 408))
        case .exchange, .lingering, .closed:
            state = .closed
            return .close
        }
    }

    mutating func closed() {
        state = .closed
    }

    // MARK: Events of the exchange

    /// The octets of the next request's head, where that may be answered at once: all of it is there, and the connection stays open behind it.
    var wholeHead: ByteBuffer? {
        guard case .idle = state, !isDraining else { return nil }
        return decoder.wholeHead
    }

    /// The request with this head was answered; it had no content, and wanted to be followed by others.
    mutating func answeredAtOnce(_ head: ByteBuffer) {
        decoder.skipHead(head)
    }

    /// The next request that was received, if there is one.
    mutating func nextRequest() -> Action {
        guard case .idle = state else { return .none }
        do throws(MessageRefusal) {
            switch try decoder.next() {
            case .head(let head):
                var exchange = Exchange(
                    isKeptAlive: head.isKeptAlive,
                    owesContinue: head.expectsContinue,
                    isContentComplete: false
                )
                if head.framing == .none || head.framing == .length(0) {
                    _ = try decoder.next()
                    exchange.isContentComplete = true
                    exchange.owesContinue = false
                }
                state = .exchange(exchange)
                return .begin(head)
            case .body, .end, nil:
                guard isInputClosed || isDraining && !decoder.isInsideMessage else { return .read }
                state = .closed
                return .close
            }
        } catch {
            state = .exchange(Exchange(isKeptAlive: false, owesContinue: false, isContentComplete: false))
            return .refuse(error)
        }
    }

    /// Somebody wants the next piece of the present request's content.
    mutating func contentWanted() -> Action {
        guard case .exchange(var exchange) = state, !exchange.isDiscarding, !exchange.isAnswered else {
            return .contentFailed(MessageRefusal(.truncated))
        }
        if exchange.isContentComplete { return .content(nil) }
        exchange.isContentWanted = true
        state = .exchange(exchange)
        return nextContent()
    }

    /// Nobody wants the present request's content: it is read and dropped, lest it be taken for the next request.
    mutating func discardContent() -> Action {
        guard case .exchange(var exchange) = state, !exchange.isContentComplete else { return .none }
        exchange.isDiscarding = true
        state = .exchange(exchange)
        // What the client holds back until it is asked for need not come at all.
        return exchange.owesContinue ? .none : discard()
    }

    /// The answer is written whole.
    ///
    /// - Parameter keepingAlive: what the answer's head announced.
    mutating func answered(keepingAlive: Bool) -> Action {
        guard case .exchange(var exchange) = state else { return .none }
        let isKeptAlive = isKeptAlive && keepingAlive
        exchange.isAnswered = true
        exchange.isContentWanted = false
        exchange.isDiscarding = true
        state = .exchange(exchange)
        guard isKeptAlive else { return closing() }
        if exchange.isContentComplete {
            state = .idle
            return .proceed
        }
        return discard()
    }

    // MARK: Content

    private mutating func nextContent() -> Action {
        guard case .exchange(var exchange) = state else { return .none }
        do throws(MessageRefusal) {
            let event = try decoder.next()
            switch event {
            case .body(let octets):
                exchange.isContentWanted = false
                exchange.owesContinue = false
                state = .exchange(exchange)
                return .content(octets)
            case .end, .head:
                exchange.isContentWanted = false
                exchange.isContentComplete = true
                exchange.owesContinue = false
                state = .exchange(exchange)
                return .content(nil)
            case nil:
                if isInputClosed { throw MessageRefusal(.truncated) }
                defer { state = .exchange(exchange) }
                guard exchange.owesContinue, decoder.undecodedCount == 0 else { return .read }
                exchange.owesContinue = false
                return .sayContinue
            }
        } catch {
            exchange.isContentWanted = false
            exchange.isKeptAlive = false
            state = .exchange(exchange)
            return .contentFailed(error)
        }
    }

    private mutating func discard() -> Action {
        guard case .exchange(var exchange) = state else { return .none }
        do throws(MessageRefusal) {
            while let event = try decoder.next() {
                switch event {
                case .body(let octets):
                    discardable -= octets.readableBytes
                    guard discardable > 0 else { return giveUp(exchange) }
                case .end, .head:
                    discardable = discardLimit
                    exchange.isContentComplete = true
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
        exchange.isDiscarding = false
        state = .exchange(exchange)
        return exchange.isAnswered ? closing() : .none
    }

    private mutating func closing() -> Action {
        guard case .exchange(let exchange) = state, !exchange.isContentComplete, !isInputClosed else {
            state = .closed
            return .close
        }
        discardable = discardLimit
        state = .lingering
        return .linger
    }
}
