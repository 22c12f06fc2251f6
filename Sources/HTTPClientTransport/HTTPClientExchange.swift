import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Synchronization

/// One request on its way, and what has come for it until that is read.
///
/// What came at once is handed over at once: the head with as much of the content as was there with
/// it. So a short answer wakes who waits for it a single time, where AsyncHTTPClient's own
/// asynchronous interface wakes it for the head, for each piece and for the end, and the event loop
/// for each piece that is asked for.
final class HTTPClientExchange: HTTPClientResponseDelegate {
    /// A head, and the whole content where all of it came with that.
    struct Answer {
        var head: HTTPResponseHead
        var content: ByteBuffer?
    }

    fileprivate struct State {
        var task: HTTPClient.Task<Void>?
        /// It got a connection.
        var isSent = false
        var isCancelled = false
        var head: HTTPResponseHead?
        var waiting: CheckedContinuation<Answer, any Error>?
        /// What came and is not read.
        var chunks = CircularBuffer<ByteBuffer>(initialCapacity: 1)
        var bytes = 0
        /// Whoever reads faster than anything comes.
        var reader: CheckedContinuation<ByteBuffer?, any Error>?
        /// Kept while there is more than is to be held.
        var room: EventLoopPromise<Void>?
        var end: Result<Void, any Error>?
    }

    /// Bytes that are held before no more are taken from the connection.
    fileprivate static let limit = 128 << 10

    private let loop: any EventLoop
    private let origin: String
    private let connections: BusyConnections
    private let handshakes: FirstHandshakes
    private let state = Mutex(State())

    /// - Parameters:
    ///   - loop: where the client tells of it.
    ///   - origin: scheme and authority.
    ///   - connections: counts it while it has a connection.
    ///   - handshakes: learns that it has one.
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

    /// Sends a request and waits for the head of what answers it.
    ///
    /// - Parameter start: gives it to the client; called on the event loop, so that whatever the
    ///   client does for it is done where its connection is, and wakes nobody.
    /// - Throws: AsyncHTTPClient's errors, `CancellationError`.
    func answer(_ start: @escaping @Sendable (HTTPClientExchange) -> HTTPClient.Task<Void>) async throws -> Answer {
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
        task.futureResult.whenComplete { self.ended($0) }
        let isCancelled = state.withLock { state in
            // It may have ended by now.
            if state.end == nil { state.task = task }
            return state.isCancelled
        }
        if isCancelled { task.fail(reason: CancellationError()) }
    }

    /// Ends it where it has not ended: nobody waits for the answer any more, or reads it.
    func cancel() {
        let (task, room) = state.withLock { state in
            state.isCancelled = true
            return (state.task, state.room.take())
        }
        task?.fail(reason: CancellationError())
        // The client ends only when nothing is being taken.
        room?.succeed(())
    }

    /// Whether it failed because every connection was in use, and no further one could be tried.
    func lackedConnection(_ error: any Error) -> Bool {
        !state.withLock { $0.isSent } && connections.isLack(error, at: origin)
    }

    // MARK: What the client tells, on the event loop

    func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
        state.withLock { state in
            // It may have been cancelled by now; then nothing would take it out again.
            guard state.end == nil else { return }
            state.isSent = true
            connections.begin(origin)
        }
        handshakes.connected(origin)
    }

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        state.withLock { $0.head = head }
        connections.answered(origin, head.version)
        // When all that came with it has been told.
        loop.execute { self.handOver() }
        return loop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ chunk: ByteBuffer) -> EventLoopFuture<Void> {
        let (reader, room) = state.withLock { $0.received(chunk, on: loop) }
        reader?.resume(returning: chunk)
        return room ?? loop.makeSucceededVoidFuture()
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) {}

    private func ended(_ result: Result<Void, any Error>) {
        let (waiting, reader, room, isSent) = state.withLock { state in
            state.end = result
            state.task = nil
            // A head that came is handed over, whatever became of the rest.
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
        let (waiting, answer) = state.withLock { state in (state.waiting.take(), state.answer()) }
        if let answer { waiting?.resume(returning: answer) }
    }

    // MARK: Reading

    /// The next of the content; `nil` at its end. For one reader.
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

    /// What can be read without waiting.
    fileprivate struct Ready {
        var result: Result<ByteBuffer?, any Error>
        /// To be kept no longer.
        var room: EventLoopPromise<Void>?
    }
}

extension HTTPClientExchange.State {
    /// - Returns: who is to have the chunk, or when there is room for the next one.
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

    fileprivate mutating func answer() -> HTTPClientExchange.Answer? {
        guard let head else { return nil }
        guard case .success? = end else { return HTTPClientExchange.Answer(head: head) }
        var content = chunks.popFirst() ?? ByteBuffer()
        while let chunk = chunks.popFirst() { content.writeImmutableBuffer(chunk) }
        return HTTPClientExchange.Answer(head: head, content: content)
    }

    /// `nil`: it is still to come.
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
