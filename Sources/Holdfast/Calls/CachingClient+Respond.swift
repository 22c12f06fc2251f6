public import HTTPCache
import NIOCore

extension CachingClient {
    /// Responds to a request without decoding. Returns the raw response as a stream. Plugins do not
    /// run, redirects are not followed, and nothing is retried.
    ///
    /// - Throws: `ExchangeError`; `HoldfastError` with code `closed` if the client is closed;
    ///   `CancellationError` if the calling task is canceled. If the client is closed before the
    ///   content is read, the stream throws `closed`.
    public func respond(to request: CacheRequest) async throws -> CacheResponse {
        let secrets = Secrets(parameters: request.secretParameters, fields: request.secretFields)
        let target = MessageTarget(request.head, hiding: secrets)
        var response = try await untilClosed("\(target)") { [engine] in try await engine.respond(to: request) }
        if response.body.whole == nil { response.body = bodyUntilClosed(response.body, of: target) }
        return response
    }

    private func bodyUntilClosed(_ body: BodyStream, of target: MessageTarget) -> BodyStream {
        BodyStream(length: body.length) {
            let reader = BodyReader(body.makeAsyncIterator())
            return { try await self.untilClosed("\(target)") { try await reader.next() } }
        }
    }
}

/// An iterator that one task after another uses: safe, because its caller waits for each chunk
/// before it reads the next.
private final class BodyReader: @unchecked Sendable {
    private var iterator: BodyStream.AsyncIterator

    init(_ iterator: BodyStream.AsyncIterator) { self.iterator = iterator }

    func next() async throws -> ByteBuffer? { try await iterator.next() }
}
