import HTTPCache
import HTTPTypes
import NIOCore

/// How an exchange, in its task, reaches its connection, on its event loop.
///
/// When the connection has gone, or is at another exchange already, everything here throws
/// `CancellationError` or does nothing.
struct ExchangeLink: ResponseSink {
    private let handler: NIOLoopBound<ConnectionHandler>
    private let number: UInt64
    private let interims: InterimResponses
    private let eventLoop: any EventLoop
    let executor: any TaskExecutor

    /// To be called on the event loop.
    init(handler: ConnectionHandler, number: UInt64, eventLoop: any EventLoop, executor: any TaskExecutor) {
        self.executor = executor
        self.handler = NIOLoopBound(handler, eventLoop: eventLoop)
        self.interims = handler.interims
        self.number = number
        self.eventLoop = eventLoop
    }

    /// The request's content, pulled off the connection; `nil` where there is none.
    func content(of head: RequestHead) -> BodyStream? {
        switch head.framing {
        case .none, .untilClose: return nil
        case .length(0): return .empty
        case .length(let length): return BodyStream(length: length) { { try await nextContent() } }
        case .chunked: return BodyStream { { try await nextContent() } }
        }
    }

    private func nextContent() async throws -> ByteBuffer? {
        guard let content = try await onLoop({ $0.nextContent() }) else { throw CancellationError() }
        return try await content.get()
    }

    /// See ``ConnectionMachine/discardContent()``.
    func discardContent() {
        eventLoop.execute {
            let handler = handler.value
            if handler.isPresent(number) { handler.discardContent() }
        }
    }

    /// Before it returns, where it runs on the loop: the final response may be written next, in the
    /// same round.
    func inform(_ head: HTTPResponse) {
        interims.append(head, of: number)
        if eventLoop.inEventLoop { return ifPresent { $0.writeInterims() } }
        eventLoop.execute { ifPresent { $0.writeInterims() } }
    }

    func start(_ head: GatewayResponseHead) async throws {
        if eventLoop.inEventLoop { return try present { $0.start(head) } }
        try await onLoop { $0.start(head) }
    }

    func answer(_ head: GatewayResponseHead, _ content: ByteBuffer) async throws {
        if eventLoop.inEventLoop { return try present { $0.answer(head, content) } }
        try await onLoop { $0.answer(head, content) }
    }

    func write(_ content: ByteBuffer) async throws {
        if eventLoop.inEventLoop {
            try await present { $0.write(content) }?.get()
        } else {
            try await onLoop { $0.write(content) }?.get()
        }
    }

    func finish() async throws {
        if eventLoop.inEventLoop { return try present { $0.finish() } }
        try await onLoop { $0.finish() }
    }

    func abort() async {
        eventLoop.execute {
            let handler = handler.value
            if handler.isPresent(number) { handler.abort() }
        }
    }

    /// Does something on the loop. An exchange that nothing has led away is there already, and
    /// calls ``present(_:)`` without a word to the loop.
    private func onLoop<Value: Sendable>(_ body: @escaping @Sendable (ConnectionHandler) -> Value) async throws -> Value
    {
        if eventLoop.inEventLoop { return try present(body) }
        return try await eventLoop.submit { try present(body) }.get()
    }

    /// Does something on the loop, where this runs already, unless the connection has gone on
    /// without it.
    func ifPresent(_ body: (ConnectionHandler) -> Void) {
        let handler = handler.value
        if handler.isPresent(number) { body(handler) }
    }

    private func present<Value>(_ body: (ConnectionHandler) -> Value) throws -> Value {
        let handler = handler.value
        guard handler.isPresent(number) else { throw CancellationError() }
        return body(handler)
    }
}
