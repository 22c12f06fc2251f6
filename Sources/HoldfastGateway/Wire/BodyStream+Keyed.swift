import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import NIOCore

extension BodyStream {
    /// Returns the content as a stream that fails if it turns out to be longer than `limit`.
    ///
    /// - Throws: ``ContentTooLarge`` if its stated length exceeds the limit.
    func limited(to limit: Int64) throws -> BodyStream {
        if let length {
            guard length.isWithin(limit) else { throw ContentTooLarge(limit: limit) }
            return self
        }
        return BodyStream(trailed: LimitedContent(self, to: limit))
    }

    /// Reads content of at most `limit` bytes into memory, so that it can become part of the key.
    /// Longer content stays a stream. Content with trailers also stays a stream, because trailers
    /// are not part of the key.
    func keyed(upTo limit: Int) async throws -> RequestBody {
        if let length, !length.isWithin(Int64(limit)) { return .stream(self) }
        let begun = try await begun(Int64(limit) + 1)
        guard let whole = begun.whole, whole.readableBytes <= limit else { return .stream(begun) }
        return .buffer(whole)
    }
}

/// Content that fails if it is longer than a limit.
private final class LimitedContent: TrailedContent {
    private let content: BodyStream
    private let limit: Int64

    init(_ content: BodyStream, to limit: Int64) {
        self.content = content
        self.limit = limit
    }

    func startReading() -> () async throws -> ByteBuffer? {
        var rest = content.makeAsyncIterator()
        var count: Int64 = 0
        let limit = limit
        return {
            let chunk = try await rest.next()
            count += Int64(chunk?.readableBytes ?? 0)
            guard count <= limit else { throw ContentTooLarge(limit: limit) }
            return chunk
        }
    }

    var trailers: HTTPFields? { content.trailers }
}

/// The error for request content that is longer than this gateway forwards. RFC 9110 §15.5.14
struct ContentTooLarge: RequestRefusal {
    static let code = "content-too-large"

    let limit: Int64
    let status = 413
    let isOfLimit = true
    var code: String { Self.code }
    var words: String { "The content has more than \(limit) bytes. Send less." }
    var setting: String? { "limits.request-body" }
}
