import HTTPCache
import HTTPCacheSemantics
import NIOCore

/// A response on its way to a client, before the client's protocol encodes it.
enum GatewayResponse {
    /// A stored response with its complete content, and the label of the request's route. An
    /// identical request may get the same bytes.
    case stored(GatewayResponseHead, ImmediateHit, RouteLabel)
    /// A response with its complete content.
    case whole(GatewayResponseHead, ByteBuffer)
    /// The head of a response whose content follows in pieces, and the content's length, if known.
    case stream(GatewayResponseHead, length: StatedLength?)
    /// A complete response that is relayed without parsing its head.
    case relayed(any RelayedResponse, GatewayService.ResponseContext)
}
