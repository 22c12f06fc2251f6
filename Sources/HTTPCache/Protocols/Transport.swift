/// Sends requests to origin servers. The engine has no other way to reach them.
///
/// It does not cache, follow redirects, decode content or retry: one request, one response. There
/// is one exception: an idle connection may close just as a request is sent on it. If it closes
/// before the first byte of a response arrives, a transport may send the request once more, on a
/// new connection. See ``TransportRequest/isIdempotent``.
public protocol Transport: Sendable {
    /// Sends a request and returns when the final response's head has arrived; the body streams
    /// after it.
    ///
    /// Canceling the calling task ends the exchange on the network.
    /// - Throws: ``TransportError`` if no head arrived; the body's stream throws it if the body was
    ///   cut short.
    func send(_ request: TransportRequest) async throws -> TransportResponse

    /// Whether the transport enforces ``TransportRequest/headTimeout`` itself. If not, the engine
    /// enforces it, with a task for each request.
    var keepsTimeouts: Bool { get }

    /// Sends requests from an event loop without a task; `nil` if the transport does not support
    /// it.
    ///
    /// An engine reads this property once. Only transports in this package implement it. A
    /// transport that wraps another transport must not forward it, because requests would bypass
    /// the wrapper.
    var callbacks: TransportCallbacks? { get }
}

extension Transport {
    /// `false`
    public var keepsTimeouts: Bool { false }

    /// `nil`
    public var callbacks: TransportCallbacks? { nil }
}
