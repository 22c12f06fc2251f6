/// Sends requests to origin servers. The engine has no other way to reach them.
///
/// It does not cache, follow redirects, decode content or retry: one request, one response. There
/// is one exception: a kept connection may close just when a request is sent on it. If it closes
/// before any byte of a response, a transport may send the request once more, on a new connection.
/// See ``TransportRequest/isIdempotent``.
public protocol Transport: Sendable {
    /// Sends a request and returns when the final response's head has arrived; the body streams
    /// after it.
    ///
    /// Cancelling the calling task ends the exchange on the network.
    /// - Throws: ``TransportError`` if no head arrived; the body's stream throws it if the body was
    ///   cut short.
    func send(_ request: TransportRequest) async throws -> TransportResponse

    /// Whether it enforces ``TransportRequest/headTimeout`` itself. If not, the engine does, with a
    /// task for each request.
    var keepsTimeouts: Bool { get }

    /// Sends requests from an event loop without a task; `nil` if the transport does not support
    /// it.
    ///
    /// An engine reads it once. Only transports in this package have it. A transport that wraps
    /// another one must not forward it, because requests would bypass the wrapper.
    var callbacks: TransportCallbacks? { get }
}

extension Transport {
    /// `false`
    public var keepsTimeouts: Bool { false }

    /// `nil`
    public var callbacks: TransportCallbacks? { nil }
}
