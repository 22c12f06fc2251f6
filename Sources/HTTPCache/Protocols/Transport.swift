/// Sends requests to origin servers. The engine has no other way to reach them.
///
/// It does no caching, follows no redirects, decodes no content and retries nothing: one request,
/// one response.
public protocol Transport: Sendable {
    /// Sends a request and returns when the final response's head has arrived; the body streams
    /// after it.
    ///
    /// Cancelling the calling task ends the exchange on the network.
    /// - Throws: ``TransportError`` if no head came; the body's stream throws it if the body broke
    ///   off.
    func send(_ request: TransportRequest) async throws -> TransportResponse

    /// Whether it keeps ``TransportRequest/headTimeout`` itself. If not, the engine does, with a
    /// task of its own for each request.
    var keepsTimeouts: Bool { get }

    /// Sends requests from an event loop without a task; `nil` if the transport cannot do that.
    ///
    /// An engine reads it once. Only transports of this package have it. A transport that wraps
    /// another one must not forward it, or requests pass the wrapper by.
    var callbacks: TransportCallbacks? { get }
}

extension Transport {
    /// `false`
    public var keepsTimeouts: Bool { false }

    /// `nil`
    public var callbacks: TransportCallbacks? { nil }
}
