import AsyncHTTPClient
import HTTPCache
import HTTPCacheSemantics
import NIOCore
import Synchronization

extension BodyStream {
    /// The content of a response as it arrives. It can be read only once, and fails with a
    /// ``TransportError``. Releasing the stream ends the exchange.
    ///
    /// - Parameter length: the length of the content in bytes, if known.
    init(_ exchange: HTTPClientExchange, length: StatedLength?, origin: String) {
        let reading = Reading(exchange)
        self.init(length: length) {
            guard reading.start() else { return { throw BodyStreamError.alreadyRead } }
            return {
                do {
                    return try await reading.exchange.next()
                } catch {
                    throw TransportError(error, origin: origin)
                }
            }
        }
    }
}

/// Holds a body's exchange, and cancels it when the body is released.
private final class Reading: Sendable {
    let exchange: HTTPClientExchange
    private let isStarted = Atomic(false)

    init(_ exchange: HTTPClientExchange) { self.exchange = exchange }

    deinit { exchange.cancel() }

    func start() -> Bool { !isStarted.exchange(true, ordering: .relaxed) }
}

extension HTTPClient.Body {
    /// The content of a request. It is read while it is sent, outside the event loops.
    init(_ body: BodyStream, on loop: any EventLoop) {
        if let whole = body.whole {
            self = .byteBuffer(whole)
            return
        }
        // The client writes this length to a field and compares it with the bytes sent.
        self = .stream(contentLength: body.length?.bytes(upTo: .max)) { writer in
            loop.makeFutureWithTask {
                for try await chunk in body { try await writer.write(.byteBuffer(chunk)).get() }
            }
        }
    }
}
