import AsyncHTTPClient
import HTTPCache
import NIOCore
import NIOHTTP1
import Synchronization

/// An in-flight request, and the received parts of its response until they are read.
///
/// Parts that arrive together are delivered together: the head with all the content that arrived
/// with it. A short response therefore wakes its waiting task once. AsyncHTTPClient's own
/// asynchronous interface wakes it for the head, for each chunk and for the end, and wakes the
/// event loop for each requested chunk.
final class HTTPClientExchange: HTTPClientResponseDelegate {
    /// A head, and the whole content if all of it arrived with the head.
    struct ResponseStart {
        var head: HTTPResponseHead
        var content: ByteBuffer?
    }

    fileprivate struct State {
        var task: HTTPClient.Task<Void>?
        /// Whether the request got a connection.
        var isSent = false
        var isCancelled = false
        var head: HTTPResponseHead?
        var waiting: CheckedContinuation<ResponseStart, any Error>?
        /// The received chunks that have not been read yet.
        var chunks = CircularBuffer<ByteBuffer>(initialCapacity: 1)
        var bytes = 0
        /// The reader, if it is waiting for the next chunk.
        var reader: CheckedContinuation<ByteBuffer?, any Error>?
        /// Fulfilled when there is room for more content. Set while more than ``limit`` bytes are
        /// buffered.
        var room: EventLoopPromise<Void>?
        var end: Result<Void, any Error>?
    }

    /// The number of buffered bytes at which reading from the connection stops.
    fileprivate static let limit = 128 << 10

    private let loop: any EventLoop
    private let origin: String
    private let connections: BusyConnections
    private let handshakes: FirstHandshakes
    private let state = Mutex(State())

    /// - Parameters:
    ///   - loop: the event loop on which the client calls the delegate.
    ///   - origin: the scheme and authority.
    ///   - connections: counts the exchange while it has a connection.
    ///   - handshakes: receives a notification when the connection is open.
    init(
        on loop: any EventLoop,
        to origin: String,
        _ connections: BusyConnections,
        _ handshakes: FirstHandshakes
    ) {
        self.loop = loop
        self.origin = origin
        self.connections = connections
        self.handshakes = handshakes
    }

    // MARK: Sending

    /// Sends a request and waits for the head of its response.
    ///
    /// - Parameter start: passes the exchange to the client. It is called on the event loop, so
    ///   that the client works on the loop of its connection and wakes no other thread.
    /// - Throws: AsyncHTTPClient's errors, `CancellationError`.
    func send(_ start: @escaping @Sendable (HTTPClientExchange) -> HTTPClient.Task<Void>) async throws -> ResponseStart
    {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                state.withLock { $0.waiting = continuation }
                loop.execute { self.begin(start) }
            }
        } onCancel: {
            cancel()
        }
    }

    private func begin(_ start: (HTTPClientExchange) -> HTTPClient.Task<Void>) {
        let task = start(self)
        task.futureResult.whenComplete { self.finish($0) }
        let isCancelled = state.withLock { state in
            // The exchange may already have ended.
            if state.end == nil { state.task = task }
            return state.isCancelled
        }
        if isCancelled { task.fail(reason: CancellationError()) }
    }

    /// Ends the exchange, unless it has already ended. Call this when no task waits for the
    /// response or reads it anymore.
    func cancel() {
        let (task, room) = state.withLock { state in
            state.isCancelled = true
            return (state.task, state.room.take())
        }
        task?.fail(reason: CancellationError())
        // The client can end only while no chunk is being handled.
        room?.succeed(())
    }

    /// Returns whether the request failed because every connection was in use and no more could be
    /// opened.
    func foundNoConnection(_ error: any Error) -> Bool {
        !state.withLock { $0.isSent } && connections.isShortage(error, at: origin)
    }

    /// Returns whether the request failed because its connection closed before any byte of a
    /// response.
    ///
    /// A connection that was never opened cannot close.
    func isUnanswered(_ error: any Error) -> Bool {
        // The client chose a pooled connection that had closed.
        if let error = error as? ChannelError, error == .ioOnClosedChannel { return true }
        return state.withLock { $0.isSent && $0.head == nil } && TransportError.isClose(error)
    }

    // MARK: Calls from the client, on the event loop

    func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
        state.withLock { state in
            // If the exchange was already canceled, the connection would never be removed from the
            // count.
            guard state.end == nil else { return }
            state.isSent = true
            connections.begin(origin)
        }
        handshakes.recordConnection(origin)
    }

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        state.withLock { $0.head = head }
        connections.recordProtocol(of: origin, head.version)
        // Deliver after all parts that arrived with the head.
        loop.execute { self.handOver() }
        return loop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ chunk: ByteBuffer) -> EventLoopFuture<Void> {
        let (reader, room) = state.withLock { $0.received(chunk, on: loop) }
        reader?.resume(returning: chunk)
        return room ?? loop.makeSucceededVoidFuture()
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) {}

    private func finish(_ result: Result<Void, any Error>) {
        let (waiting, reader, room, isSent) = state.withLock { state in
            state.end = result
            state.task = nil
            // A received head is delivered even if the rest failed.
            let waiting = state.head == nil ? state.waiting.take() : nil
            return (waiting, state.reader.take(), state.room.take(), state.isSent)
        }
        if isSent { connections.end(origin) }
        room?.succeed(())
        switch result {
        case .success: reader?.resume(returning: nil)
        case .failure(let error):
            waiting?.resume(throwing: error)
            reader?.resume(throwing: error)
        }
    }

    private func handOver() {
        let (waiting, start) = state.withLock { state in (state.waiting.take(), state.responseStart()) }
        if let start { waiting?.resume(returning: start) }
    }

    // MARK: Reading

    /// Returns the next chunk of the content, or `nil` at its end. Supports only one reader.
    ///
    /// - Throws: AsyncHTTPClient's errors, `CancellationError`.
    func next() async throws -> ByteBuffer? {
        if let ready = take() { return try ready.get() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let ready = state.withLock { state -> Ready? in
                    if let ready = state.take() { return ready }
                    state.reader = continuation
                    return nil
                }
                ready?.room?.succeed(())
                if let ready { continuation.resume(with: ready.result) }
            }
        } onCancel: {
            cancel()
        }
    }

    private func take() -> Result<ByteBuffer?, any Error>? {
        let ready = state.withLock { $0.take() }
        ready?.room?.succeed(())
        return ready?.result
    }

    /// A result that is available without waiting.
    fileprivate struct Ready {
        var result: Result<ByteBuffer?, any Error>
        /// The promise to fulfill, because there is room again.
        var room: EventLoopPromise<Void>?
    }
}

extension HTTPClientExchange.State {
    /// - Returns: the reader that gets the chunk; and, if the limit is reached, a future that
    ///   succeeds when there is room for the next chunk.
    fileprivate mutating func received(
        _ chunk: ByteBuffer,
        on loop: any EventLoop
    ) -> (CheckedContinuation<ByteBuffer?, any Error>?, EventLoopFuture<Void>?) {
        if let reader = reader.take() { return (reader, nil) }
        chunks.append(chunk)
        bytes += chunk.readableBytes
        guard bytes > HTTPClientExchange.limit, !isCancelled else { return (nil, nil) }
        let promise = loop.makePromise(of: Void.self)
        room = promise
        return (nil, promise.futureResult)
    }

    fileprivate mutating func responseStart() -> HTTPClientExchange.ResponseStart? {
        guard let head else { return nil }
        guard case .success? = end else { return HTTPClientExchange.ResponseStart(head: head) }
        var content = chunks.popFirst() ?? ByteBuffer()
        while let chunk = chunks.popFirst() { content.writeImmutableBuffer(chunk) }
        return HTTPClientExchange.ResponseStart(head: head, content: content)
    }

    /// Removes and returns the next result. Returns `nil` if it has not arrived yet.
    fileprivate mutating func take() -> HTTPClientExchange.Ready? {
        if let chunk = chunks.popFirst() {
            bytes -= chunk.readableBytes
            let hasRoom = bytes <= HTTPClientExchange.limit / 2
            return HTTPClientExchange.Ready(result: .success(chunk), room: hasRoom ? room.take() : nil)
        }
        if let end { return HTTPClientExchange.Ready(result: end.map { nil }) }
        return isCancelled ? HTTPClientExchange.Ready(result: .failure(CancellationError())) : nil
    }
}
