import HTTPCache
import HTTPTypes
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// One request on its way to its origin: takes a connection or makes one, sends, and sends once
/// more where that is safe.
///
/// All of it happens on one event loop; ``cancel()`` may be called anywhere.
final class OriginCall: TransportCall {
    typealias Completion = @Sendable (Result<CallbackResponse, any Error>) -> Void

    private struct State {
        /// `nil` where the answer's head has been handed over.
        var completion: Completion?
        var isCancelled = false
        /// Where it is under way.
        var connection: OriginConnection?
        /// That one was kept from an exchange before: it may turn out dead, and the request is then
        /// sent once more where that is safe.
        var isOnKept = false
        var upload: Task<Void, Never>?
    }

    private let transport: OriginTransport
    private let message: OriginRequest
    private let onInterim: (@Sendable (HTTPResponse) -> Void)?
    private let number = OriginConnection.nextNumber()
    private let state = Mutex(State())

    init(_ transport: OriginTransport, _ message: OriginRequest, onInterim: (@Sendable (HTTPResponse) -> Void)?) {
        self.transport = transport
        self.message = message
        self.onInterim = onInterim
    }

    /// Begins, wherever the caller runs. `completion` is called once, on some event loop.
    func begin(_ completion: @escaping Completion) {
        let current = MultiThreadedEventLoopGroup.currentEventLoop
        let kept = transport.pool.take(message.endpoint, near: current)
        let eventLoop = kept?.eventLoop ?? current ?? transport.group.next()
        if eventLoop.inEventLoop { return begin(on: eventLoop, kept, completion) }
        eventLoop.execute { self.begin(on: eventLoop, kept, completion) }
    }

    /// Begins on the calling event loop, and calls `completion` there, once.
    func begin(on eventLoop: any EventLoop, _ kept: OriginConnection?, _ completion: @escaping Completion) {
        state.withLock { state in
            state.completion = completion
            state.isOnKept = kept != nil
        }
        if let kept { send(on: kept) } else { connect(on: eventLoop) }
    }

    private func connect(on eventLoop: any EventLoop) {
        guard !isCancelled else { return fail(CancellationError()) }
        if let end = message.connectEnd, end <= .now() {
            // The time is over before anything was tried: that says nothing of how the origin takes
            // connections.
            let message = "'\(message.endpoint)' sent no response in time."
            return fail(TransportError(code: .timeout, message: message))
        }
        transport.connect(to: message, on: eventLoop).whenComplete { result in
            switch result {
            case .success(let connection): self.send(on: connection)
            case .failure(let failure): self.fail((failure as? OriginFailure)?.error ?? failure)
            }
        }
    }

    private func send(on connection: OriginConnection) {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.connection = connection }
            return state.isCancelled
        }
        guard !isCancelled else {
            connection.close()
            return fail(CancellationError())
        }
        do throws(OriginFailure) {
            try connection.begin(number, message, for: self)
        } catch {
            return failed(error)
        }
        guard let body = message.body else { return }
        // A task of its own: an origin may answer before it has read everything.
        let (isChunked, number) = (message.isChunked, number)
        let upload = Task { await connection.upload(body, isChunked: isChunked, number) }
        state.withLock { $0.upload = upload }
    }

    // MARK: What the connection says, on its event loop

    func informed(_ interim: HTTPResponse) { onInterim?(interim) }

    /// The head of the final response has come, or will not; said once by each connection that took
    /// the request.
    func ended(_ result: Result<OriginResponse, OriginFailure>) {
        switch result {
        case .success(let answer):
            answered(answer)
        case .failure(let failure):
            state.withLock { $0.upload.take() }?.cancel()
            if isCancelled { fail(CancellationError()) } else { failed(failure) }
        }
    }

    private func answered(_ answer: OriginResponse) {
        let (completion, upload, connection) = state.withLock { state in
            (state.completion.take(), state.upload.take(), state.connection)
        }
        guard let completion, let connection else { return }
        switch answer {
        case .relayed(let response):
            completion(.success(.relayed(response)))
        case .message(let head, let whole, let boundary):
            let body: BodyStream
            if let whole {
                upload?.cancel()
                body = BodyStream(whole)
            } else {
                body = OriginBody(connection: connection, number: number, upload: upload).stream(head.framing)
            }
            var response = TransportResponse(head: head.response, body: body)
            response.boundary = boundary
            completion(.success(.response(response)))
        }
    }

    /// No head came, and nobody has given up.
    private func failed(_ failure: OriginFailure) {
        let kept = state.withLock { state -> OriginConnection? in
            defer { state.isOnKept = false }
            return state.isOnKept ? state.connection : nil
        }
        guard let kept, failure.isUnsent || failure.isBeforeAnswer && message.isRepeatable,
            failure.error.code == .connectionClosed
        else { return fail(failure.error) }
        transport.logger.debug("Kept connection was dead", metadata: ["origin.authority": "\(message.endpoint)"])
        connect(on: kept.eventLoop)
    }

    private func fail(_ error: any Error) {
        state.withLock { $0.completion.take() }?(.failure(error))
    }

    private var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Ends it on the wire, unless the answer's head has come: then it is for whoever reads the
    /// content to end it.
    func cancel() {
        let connection = state.withLock { state -> OriginConnection? in
            guard state.completion != nil || state.connection == nil else { return nil }
            state.isCancelled = true
            return state.connection
        }
        connection?.abandon(number)
    }
}
