import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import NIOCore
import Synchronization

/// A connection to an origin, as exchanges' tasks use it. It forwards their calls to the
/// connection's event loop.
///
/// Each exchange has a number. A late call from an exchange that is over has no effect.
///
/// A class with one instance per connection, because it is passed around a lot.
final class OriginConnection: Sendable {
    private let handler: NIOLoopBound<OriginConnectionHandler>
    let channel: any Channel
    /// The event loop that serves the connection.
    let eventLoop: any EventLoop

    private static let numbers = Atomic<UInt64>(0)

    static func nextNumber() -> UInt64 { numbers.add(1, ordering: .relaxed).newValue }

    /// Must be called on the channel's event loop.
    init(handler: OriginConnectionHandler, channel: any Channel) {
        self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
        self.channel = channel
        eventLoop = channel.eventLoop
    }

    /// Sends a head. Must be called on the event loop; see
    /// ``OriginConnectionHandler/begin(_:_:for:)``.
    ///
    /// No content may be read before this returns. If nothing was sent, the request may be retried
    /// on another connection, which needs all the content.
    func begin(_ number: UInt64, _ request: OriginRequest, for call: OriginCall) throws(OriginFailure) {
        try handler.value.begin(number, request, for: call)
    }

    /// Sends the content as fast as the origin reads it.
    func upload(_ body: BodyStream, isChunked: Bool, _ number: UInt64) async {
        do {
            for try await chunk in body {
                let bytes = isChunked ? ByteBuffer.chunk(chunk) : chunk
                try await eventLoop.flatSubmit { self.handler.value.write(bytes, number) }.get()
            }
            eventLoop.execute { self.handler.value.endUpload(isChunked ? .lastChunk(body.trailers) : nil, number) }
        } catch {
            // The origin must not mistake the partial content for all of it.
            eventLoop.execute { self.handler.value.uploadFailed(error, number) }
        }
    }

    /// Returns the next bytes of the content.
    ///
    /// - Throws: ``OriginFailure``
    func next(_ number: UInt64) async throws -> OriginPiece {
        if eventLoop.inEventLoop, let piece = handler.value.nextIfReady(number) { return piece }
        return try await withTaskCancellationHandler {
            if eventLoop.inEventLoop { return try await handler.value.next(number).get() }
            return try await eventLoop.flatSubmit { self.handler.value.next(number) }.get()
        } onCancel: {
            abandon(number)
        }
    }

    /// Ends the exchange, unless it is over.
    func abandon(_ number: UInt64) {
        eventLoop.execute { self.handler.value.abandon(number) }
    }

    /// Closes the connection if it is idle: see ``OriginConnectionHandler/retire()``.
    func retire() { eventLoop.execute { self.handler.value.retire() } }

    /// Closes the connection.
    ///
    /// - Returns: a future that completes when the connection is closed.
    @discardableResult
    func close() -> EventLoopFuture<Void> { channel.close() }
}

/// The content of one response. Releasing it before the end abandons the exchange.
final class OriginBody: TrailedContent {
    private let connection: OriginConnection
    private let number: UInt64
    private let upload: Task<Void, Never>?
    private let isStarted = Atomic(false)
    private let isEnded = Atomic(false)
    private let received = Mutex<HTTPFields?>(nil)

    init(connection: OriginConnection, number: UInt64, upload: Task<Void, Never>?) {
        self.connection = connection
        self.number = number
        self.upload = upload
    }

    deinit {
        upload?.cancel()
        // A response that was read to its end is over, and another exchange may already use its
        // connection.
        if !isEnded.load(ordering: .relaxed) { connection.abandon(number) }
    }

    func stream(_ framing: Framing) -> BodyStream {
        let length: StatedLength? = if case .length(let bytes) = framing { bytes } else { nil }
        return BodyStream(length: length, trailed: self)
    }

    func startReading() -> () async throws -> ByteBuffer? {
        guard !isStarted.exchange(true, ordering: .relaxed) else { return { throw BodyStreamError.alreadyRead } }
        return { try await self.next() }
    }

    var trailers: HTTPFields? { received.withLock { $0 } }

    private func next() async throws -> ByteBuffer? {
        if isEnded.load(ordering: .relaxed) { return nil }
        do {
            let piece = try await connection.next(number)
            if let trailers = piece.trailers { received.withLock { $0 = trailers } }
            if piece.isLast { isEnded.store(true, ordering: .relaxed) }
            return piece.bytes
        } catch let failure as OriginFailure {
            throw Task.isCancelled ? CancellationError() : failure.error
        }
    }
}
