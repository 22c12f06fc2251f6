import HTTPTypes

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
