import HTTPTypes
import NIOCore

/// Writes the response to one request, in the form of the client's protocol.
///
/// It is used on the client's event loop, and never waits. ``ClientExchange`` calls it: for interim
/// responses first, then for the final response once, and after the head of a stream for its pieces
/// and their end.
protocol ClientResponseWriter: AnyObject {
    /// Writes an interim response, unless the client's protocol has none. RFC 9110 §15.2
    func inform(_ head: HTTPResponse)

    /// Writes a final response: all of it, or the head of a stream.
    func respond(with response: GatewayResponse)

    /// Writes a piece of a stream.
    ///
    /// - Returns: when more may be written; `nil` if that is at once. It fails if the client gets
    ///   no more.
    func write(_ content: ByteBuffer) -> EventLoopFuture<Void>?

    /// Ends a stream.
    ///
    /// - Parameter trailers: the trailer fields that the client takes; `nil` if there are none. A
    ///   response whose framing has no place for them loses them.
    func finish(_ trailers: HTTPFields?)

    /// The client may send bytes of another protocol from here on: none of them is taken for a
    /// request.
    func beginUpgrade()

    /// Begins a tunnel of another protocol: writes the head, and joins the client to the origin.
    func beginTunnel(
        _ head: GatewayResponseHead,
        _ protocolName: String,
        _ tunnel: Tunnel,
        _ origin: TunnelOrigin,
        _ permit: TunnelPermits.Permit
    )

    /// Ends a response that is not complete, so that the client cannot take it for a complete one.
    func abort()
}

/// For protocols that have no tunnels.
extension ClientResponseWriter {
    func beginUpgrade() {}

    func beginTunnel(
        _ head: GatewayResponseHead,
        _ protocolName: String,
        _ tunnel: Tunnel,
        _ origin: TunnelOrigin,
        _ permit: TunnelPermits.Permit
    ) {
        origin.channel.close(promise: nil)
        tunnel.endFromOutside()
        abort()
    }
}

/// Reads the content of one request, in the form of the client's protocol. It is used on the
/// client's event loop.
protocol RequestContent: AnyObject {
    /// The next piece, or the end with the trailer fields that may pass. It fails with the reason
    /// if the content breaks off.
    ///
    /// - Returns: `nil` if the client has gone, or a piece is being waited for already.
    func nextContent() -> EventLoopFuture<ContentDecoder.Event>?

    /// Reads the content and drops it.
    func discardContent()
}
