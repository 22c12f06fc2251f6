import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
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

/// The head of a response: the cache's head, and the fields that this gateway adds to every
/// response.
///
/// The two are joined only when written. Joining them earlier would copy the fields, which the
/// cache still holds.
struct GatewayResponseHead: Sendable {
    /// The status and the fields, including the `Cache-Status` and `Via` of caches nearer to the
    /// origin.
    var response: HTTPResponse
    /// How the response was produced.
    let facts: ExchangeFacts
    /// The gateway's `Via`. RFC 9110 §7.6.3
    let via: String
    /// The gateway's member of `Cache-Status`. RFC 9211 §2
    let cacheStatus: String
    /// The position of the digits of `ttl` in ``cacheStatus``, in bytes; `nil` if it has none.
    var timeToLive: Range<Int>?
    /// Whether no other client may get this head, because it contains this request's ID.
    var isForOneClient = false
}
