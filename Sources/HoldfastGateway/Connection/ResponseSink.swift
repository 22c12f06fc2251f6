import HTTPTypes
import NIOCore

/// The other side of one exchange: where the answer goes. What it looks like on the wire is the
/// connection's business.
protocol ResponseSink: Sendable {
    /// Where the exchange runs.
    var executor: any TaskExecutor { get }

    /// An interim response, before the final one. RFC 9110 §15.2
    func inform(_ head: HTTPResponse)

    /// The final response's head.
    ///
    /// - Throws: `CancellationError` when the client has gone.
    func start(_ head: GatewayResponseHead) async throws

    /// The final response, head and content.
    ///
    /// - Throws: as ``start(_:)``.
    func answer(_ head: GatewayResponseHead, _ content: ByteBuffer) async throws

    /// A piece of content. Returns when the client can take more.
    func write(_ content: ByteBuffer) async throws

    /// The content is complete.
    func finish() async throws

    /// Nobody will read the request's content: it is dropped as it comes.
    func discardContent()

    /// The content breaks off, and the client must be able to tell.
    func abort() async
}
