import AsyncHTTPClient
import HTTPCache
import NIOCore
import Synchronization

extension BodyStream {
    /// The content of a response as it comes off the wire, readable once; what breaks it off is a
    /// ``TransportError``. Letting go of it ends the exchange.
    ///
    /// - Parameter length: bytes in all of it, where that is known.
    init(_ exchange: HTTPClientExchange, length: Int64?, origin: String) {
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

/// What a body holds of its exchange: when nobody can read it any more, nobody needs it.
private final class Reading: Sendable {
    let exchange: HTTPClientExchange
    private let isStarted = Atomic(false)

    init(_ exchange: HTTPClientExchange) { self.exchange = exchange }

    deinit { exchange.cancel() }

    func start() -> Bool { !isStarted.exchange(true, ordering: .relaxed) }
}

extension HTTPClient.Body {
    /// The content of a request. What is read while it is sent, is read off every event loop.
    init(_ body: BodyStream, on loop: any EventLoop) {
        if let whole = body.whole {
            self = .byteBuffer(whole)
            return
        }
        self = .stream(contentLength: body.length) { writer in
            loop.makeFutureWithTask {
                for try await chunk in body { try await writer.write(.byteBuffer(chunk)).get() }
            }
        }
    }
}
