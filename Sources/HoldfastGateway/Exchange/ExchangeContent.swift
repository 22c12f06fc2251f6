import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import NIOCore
import Synchronization

/// Reads the content of an exchange's request. It can be used on any thread: it pulls the content
/// from the connection on the event loop.
struct ExchangeContent: Sendable {
    private let exchange: ClientExchange

    init(_ exchange: ClientExchange) { self.exchange = exchange }

    /// The content; `nil` if there is none.
    var stream: BodyStream? {
        switch exchange.request.content {
        case .none: nil
        case .length(0): .empty
        case .length(let length): BodyStream(length: length) { { try await next() } }
        case .unknownLength: BodyStream(trailed: TrailedRequest(self))
        }
    }

    /// Reads and drops the content, after the event loop's pending work.
    func discard() {
        exchange.eventLoop.execute { if !exchange.isOver { exchange.content.discardContent() } }
    }

    private func next() async throws -> ByteBuffer? {
        if case .body(let bytes) = try await nextEvent() { bytes } else { nil }
    }

    /// Returns the next piece or the end.
    fileprivate func nextEvent() async throws -> ContentDecoder.Event {
        let eventLoop = exchange.eventLoop
        let piece = eventLoop.inEventLoop ? pull() : try await eventLoop.submit { pull() }.get()
        guard let piece else { throw CancellationError() }
        return try await piece.get()
    }

    private func pull() -> EventLoopFuture<ContentDecoder.Event>? {
        exchange.isOver ? nil : exchange.content.nextContent()
    }
}

/// A request's content of unknown length, which may end with trailers.
///
/// The trailers arrive with the end itself: after that, the connection may already be at another
/// request.
private final class TrailedRequest: TrailedContent {
    private let content: ExchangeContent
    private let received = Mutex<HTTPFields?>(nil)

    init(_ content: ExchangeContent) { self.content = content }

    func startReading() -> () async throws -> ByteBuffer? { { try await self.next() } }

    var trailers: HTTPFields? { received.withLock { $0 } }

    private func next() async throws -> ByteBuffer? {
        switch try await content.nextEvent() {
        case .body(let bytes): return bytes
        case .end(let trailers):
            if let trailers { received.withLock { $0 = trailers } }
            return nil
        }
    }
}
