import Holdfast

// Holdfast's public signatures contain types of other packages. One import of Holdfast is enough to
// name and use them.

extension ByteBuffer {
    /// The bytes as text, for a custom transport.
    var text: String { String(decoding: readableBytesView, as: UTF8.self) }
}

/// A custom transport: responds with the content of the request.
struct Echo: Transport {
    func send(_ request: TransportRequest) async throws -> TransportResponse {
        var content = ByteBuffer()
        if let body = request.body { content = try await body.collect(upTo: 1 << 20) }
        if content.text.isEmpty { content.writeString(request.head.path ?? "") }
        let fields: HTTPFields = [.contentLength: "\(content.readableBytes)"]
        return TransportResponse(head: HTTPResponse(status: .ok, headerFields: fields), body: BodyStream(content))
    }
}

/// Checks content before it is stored.
func refusingEmptyContent() -> ContentCheck {
    ContentCheck(maximumBytes: 1 << 20) { (_: HTTPResponse, content: ByteBuffer) in
        if content.readableBytes == 0 { throw HoldfastError(code: .noData, message: "Empty.") }
    }
}

/// A service passes its own logger.
func client(on store: CacheManager, logger: Logger) -> CachingClient {
    CachingClient(store: store, transport: Echo(), logger: logger)
}
