import AsyncHTTPClient
import HTTPCache
import NIOCore
import NIOHTTP1
import Synchronization

extension BodyStream {
    /// The body of a response as it comes off the wire, readable once; what breaks it off is a ``TransportError``.
    ///
    /// - Parameter length: where it is not what `Content-Length` says.
    init(_ response: HTTPClientResponse, length: Int64?, origin: String) {
        let length = length ?? response.headers["content-length"].first.flatMap { Int64($0) }
        let isStarted = StartedFlag()
        self.init(length: length) {
            guard isStarted.start() else { return { throw BodyStreamError.alreadyRead } }
            let iterator = IteratorBox(response.body.makeAsyncIterator())
            return {
                do {
                    return try await iterator.next()
                } catch {
                    throw TransportError(error, origin: origin)
                }
            }
        }
    }
}

private final class StartedFlag: Sendable {
    private let isStarted = Atomic(false)
    func start() -> Bool { !isStarted.exchange(true, ordering: .relaxed) }
}

/// Keeps the iterator's state between calls of the closure that drives it.
private final class IteratorBox {
    private var iterator: HTTPClientResponse.Body.AsyncIterator

    init(_ iterator: HTTPClientResponse.Body.AsyncIterator) {
        self.iterator = iterator
    }

    func next() async throws -> ByteBuffer? {
        try await iterator.next(isolation: #isolation)
    }
}
