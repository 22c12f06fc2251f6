import HTTPTypes
import HTTPWire
import NIOCore

/// Writes the response to one request in the client's protocol.
///
/// Used on the client's event loop, and never waits. ``ClientExchange`` first calls it for interim
/// responses, then once for the final response. If the final response is a stream, it then calls it
/// for the stream's pieces and end.
protocol ClientResponseWriter: AnyObject {
    /// Writes an interim response, unless the client's protocol has none. RFC 9110 §15.2
    func inform(_ head: HTTPResponse)

    /// Writes a final response: all of it, or the head of a stream.
    func respond(with response: GatewayResponse)

    /// Writes a piece of a stream.
    ///
    /// - Returns: a future that completes when more may be written, or fails if the client can
    ///   receive no more; `nil` if more may be written immediately.
    func write(_ content: ByteBuffer) -> EventLoopFuture<Void>?

    /// Ends a stream.
    ///
    /// - Parameter trailers: the trailer fields that the client accepts; `nil` if there are none.
    ///   They are dropped if the response's framing cannot carry them.
    func finish(_ trailers: HTTPFields?)

    /// Stops treating the client's bytes as requests, because they may belong to another protocol
    /// from now on.
    func beginUpgrade()

    /// Starts a tunnel for another protocol: writes the head, and connects the client to the
    /// origin.
    func beginTunnel(
        _ head: GatewayResponseHead,
        _ protocolName: String,
        _ tunnel: Tunnel,
        _ origin: TunnelOrigin,
        _ permit: SharedPermits.Permit
    )

    /// Ends an incomplete response so that the client cannot mistake it for a complete one.
    func abort()
}

/// For protocols without tunnels.
extension ClientResponseWriter {
    func beginUpgrade() {}

    func beginTunnel(
        _ head: GatewayResponseHead,
        _ protocolName: String,
        _ tunnel: Tunnel,
        _ origin: TunnelOrigin,
        _ permit: SharedPermits.Permit
    ) {
        origin.channel.close(promise: nil)
        tunnel.endFromOutside()
        abort()
    }
}

/// Reads the content of one request in the client's protocol. Used on the client's event loop.
protocol RequestContent: AnyObject {
    /// Reads the next piece, or the end with the trailer fields that may be forwarded. The future
    /// fails with the reason if the content is cut short.
    ///
    /// - Returns: `nil` if the client has disconnected, or if another call is waiting for a piece.
    func nextContent() -> EventLoopFuture<ContentDecoder.Event>?

    /// Reads and drops the content.
    func discardContent()
}
