import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// A response on its way to a client, before the client's protocol gives it a form.
enum GatewayResponse {
    /// A stored response, with all of its content. An equal request may get the same. The label is
    /// that of the request's route.
    case stored(GatewayResponseHead, ImmediateHit, RouteLabel)
    /// A response with all of its content.
    case whole(GatewayResponseHead, ByteBuffer)
    /// The head of a response whose content follows in pieces, and the length of the content, if it
    /// is known.
    case stream(GatewayResponseHead, length: StatedLength?)
    /// A whole response whose head was not parsed, because it is passed on as it came.
    case relayed(any RelayedResponse, GatewayService.ResponseContext)
}

/// The head of a response: the cache's head, and the fields that this gateway adds to every
/// response.
///
/// The two are only joined when they are written. Joining them before would copy the fields, which
/// the cache still holds.
struct GatewayResponseHead: Sendable {
    /// The status and the fields, including the `Cache-Status` and `Via` of caches nearer to the
    /// origin.
    var response: HTTPResponse
    /// How it came about.
    let facts: ExchangeFacts
    /// The gateway's `Via`. RFC 9110 §7.6.3
    let via: String
    /// The gateway's member of `Cache-Status`. RFC 9211 §2
    let cacheStatus: String
    /// The place of the digits of `ttl` in ``cacheStatus``, in bytes; `nil` if it has none.
    var timeToLive: Range<Int>?
    /// Whether no other client may get this head: it has the name of this client's request.
    var isForOneClient = false
}
