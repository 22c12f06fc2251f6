import HTTPCache
import HTTPTypes
import NIOCore

/// How an exchange, in its task, reaches its connection, on its event loop.
///
/// When the connection has gone, or is at another exchange already, everything here throws `CancellationError` or does nothing.
struct ExchangeLink: ResponseSink {
    private let handler: NIOLoopBound<ConnectionHandler>
    private let number: UInt64
    private let eventLoop: any EventLoop

    /// To be called on the event loop.
    init(handler: ConnectionHandler, number: UInt64, eventLoop: any EventLoop) {
        self.handler = NIOLoopBound(handler, eventLoop: eventLoop)
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
        try await eventLoop.flatSubmit { onLoop { $0.nextContent() } }.get()
    }

    /// See ``ConnectionMachine/discardContent()``.
    func discardContent() {
        eventLoop.execute {
            let handler = handler.value
            if handler.isPresent(number) { handler.discardContent() }
        }
    }

    func inform(_ head: HTTPResponse) {
        eventLoop.execute {
            let handler = handler.value
            if handler.isPresent(number) { handler.inform(head) }
        }
    }

    func start(_ head: HTTPResponse, length: Int64?) async throws {
        try await eventLoop.flatSubmit {
            onLoop { handler in
                handler.start(head, length: length)
                return eventLoop.makeSucceededVoidFuture()
            }
        }.get()
    }

    func write(_ content: ByteBuffer) async throws {
        try await eventLoop.flatSubmit {
            onLoop { $0.write(content) ?? eventLoop.makeSucceededVoidFuture() }
        }.get()
    }

    func finish() async throws {
        try await eventLoop.flatSubmit {
            onLoop { handler in
                handler.finish()
                return eventLoop.makeSucceededVoidFuture()
            }
        }.get()
    }

    func abort() async {
        eventLoop.execute {
            let handler = handler.value
            if handler.isPresent(number) { handler.abort() }
        }
    }

    private func onLoop<Value>(_ body: (ConnectionHandler) -> EventLoopFuture<Value>?) -> EventLoopFuture<Value> {
        let handler = handler.value
        guard handler.isPresent(number), let future = body(handler) else {
            return eventLoop.makeFailedFuture(CancellationError())
        }
        return future
    }
}
