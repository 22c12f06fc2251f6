import HTTPCache
import HTTPTypes
import HTTPWire
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// One request to an origin. It takes an idle connection or opens one, sends the request, and
/// retries it once if that is safe.
///
/// Everything runs on one event loop, but ``begin(_:)`` and ``cancel()`` may be called from any
/// thread.
final class OriginCall: TransportCall {
    typealias Completion = @Sendable (Result<CallbackResponse, any Error>) -> Void

    private struct State {
        /// `nil` once the response's head has been delivered.
        var completion: Completion?
        var isCancelled = false
        /// The connection that the request uses.
        var connection: OriginConnection?
        /// Whether the connection is reused. If it turns out to be dead, the request is retried
        /// once if that is safe.
        var isOnKept = false
        var upload: Task<Void, Never>?
        /// Whether the request was written to a connection.
        var isSent = false
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

    /// Starts the request from any thread. `completion` is called once, on an event loop.
    func begin(_ completion: @escaping Completion) {
        let current = MultiThreadedEventLoopGroup.currentEventLoop
        if let upgrade = message.upgrade {
            // A separate connection, on the loop that will forward its bytes.
            return upgrade.eventLoop.execute { self.begin(on: upgrade.eventLoop, nil, completion) }
        }
        let kept = transport.pool.take(message.endpoint, near: current)
        let eventLoop = kept?.eventLoop ?? current ?? transport.group.next()
        if eventLoop.inEventLoop { return begin(on: eventLoop, kept, completion) }
        eventLoop.execute { self.begin(on: eventLoop, kept, completion) }
    }

    /// Starts the request on the calling event loop, and calls `completion` there, once.
    func begin(on eventLoop: any EventLoop, _ kept: OriginConnection?, _ completion: @escaping Completion) {
        state.withLock { state in
            state.completion = completion
            state.isOnKept = kept != nil
        }
        if let kept { send(on: kept) } else { connect(on: eventLoop) }
    }

    private func connect(on eventLoop: any EventLoop) {
        guard !isCancelled else { return fail(CancellationError()) }
        if let end = message.connectEnd, let limit = message.headLimit, end <= .now() {
            // The time was up before a connection was tried. That does not show whether the origin
            // accepts connections.
            return fail(TransportError(waitingFor: .head, limit, message.endpoint))
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
            return retryOrFail(error)
        }
        state.withLock { $0.isSent = true }
        guard let body = message.body else { return }
        // The content has its own task, because an origin may respond before it has read
        // everything.
        let (isChunked, number) = (message.isChunked, number)
        let upload = Task { await connection.upload(body, isChunked: isChunked, number) }
        state.withLock { $0.upload = upload }
    }

    // MARK: Called by the connection, on its event loop

    func receiveInterim(_ interim: HTTPResponse) { onInterim?(interim) }

    /// Called before ``finish(_:)`` if the origin has switched to the other protocol.
    func takeOver(_ channel: any Channel) { message.upgrade?.complete(with: channel) }

    /// Called when the head of the final response has arrived, or can no longer arrive. Each
    /// connection that took the request calls it once.
    func finish(_ result: Result<OriginResponse, OriginFailure>) {
        switch result {
        case .success(let response):
            deliver(response)
        case .failure(let failure):
            state.withLock { $0.upload.take() }?.cancel()
            if isCancelled { fail(CancellationError()) } else { retryOrFail(failure) }
        }
    }

    private func deliver(_ response: OriginResponse) {
        let (completion, upload, connection, isReused) = state.withLock { state in
            (state.completion.take(), state.upload.take(), state.connection, state.isOnKept)
        }
        guard let completion, let connection else { return }
        message.note(response.status, isReused: isReused)
        if !message.isCheck { transport.telemetry.record(.success(response.status), of: message) }
        switch response {
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

    /// Handles a failure before the head, for a call that was not canceled.
    private func retryOrFail(_ failure: OriginFailure) {
        let kept = state.withLock { state -> OriginConnection? in
            if failure.isUnsent { state.isSent = false }
            defer { state.isOnKept = false }
            return state.isOnKept ? state.connection : nil
        }
        guard let kept, failure.isUnsent || failure.isBeforeResponse && message.isRepeatable,
            failure.error.code == .connectionClosed
        else { return fail(failure.error) }
        transport.logger.debug("An idle connection was dead", metadata: ["origin.authority": "\(message.endpoint)"])
        connect(on: kept.eventLoop)
    }

    private func fail(_ error: any Error) {
        guard let completion = state.withLock({ $0.completion.take() }) else { return }
        if !(error is CancellationError) { message.note(nil, isReused: nil) }
        if !message.isCheck { transport.telemetry.record(.failure(error), of: message) }
        completion(.failure(error))
    }

    /// Whether no connection took the request. If so, none of its content was read.
    var isUnsent: Bool { state.withLock { !$0.isSent } }

    private var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Ends the exchange, unless the response's head has arrived. After that, the reader of the
    /// content ends it.
    func cancel() {
        let connection = state.withLock { state -> OriginConnection? in
            guard state.completion != nil || state.connection == nil else { return nil }
            state.isCancelled = true
            return state.connection
        }
        connection?.abandon(number)
    }
}

/// The start of a response, or the complete response.
enum OriginResponse: Sendable {
    /// - Parameter whole: the content, if all of it arrived with the head. In that case, another
    ///   exchange may already use the connection.
    case message(ResponseHead, whole: ByteBuffer?, MessageBoundary)
    case relayed(RelayedMessage)

    fileprivate var status: Int {
        switch self {
        case .message(let head, _, _): head.response.status.code
        case .relayed(let message): message.status
        }
    }
}
