import HTTPCache
import HTTPCacheSemantics
import NIOCore

/// A response on its way to a client, before the client's protocol encodes it.
enum GatewayResponse {
    /// A response from memory with its complete content. Identical requests may get the same
    /// bytes, so the protocol passes what it wrote to ``HotCandidate/keep(_:_:as:)``.
    case stored(GatewayResponseHead, ByteBuffer, HotCandidate)
    /// A response with its complete content.
    case whole(GatewayResponseHead, ByteBuffer)
    /// The head of a response whose content follows in pieces, and the content's length, if known.
    case stream(GatewayResponseHead, length: StatedLength?)
    /// A complete response that is relayed without parsing its head.
    case relayed(any RelayedResponse, GatewayService.ResponseContext)
}
