import HTTPTypes

/// The head of a response: the cache's head, and the fields that this gateway adds to every
/// response.
///
/// The two are only joined when they are written. Joining them before would copy the fields, which
/// the cache still holds.
struct GatewayResponseHead: Sendable {
    /// The status and the fields, including the `Cache-Status` and `Via` of caches nearer to the
    /// origin.
    var response: HTTPResponse
    /// The gateway's `Via`. RFC 9110 §7.6.3
    let via: String
    /// The gateway's member of `Cache-Status`. RFC 9211 §2
    let cacheStatus: String
    /// The place of the digits of `ttl` in ``cacheStatus``, in bytes; `nil` if it has none.
    var timeToLive: Range<Int>?
    /// The length of the content, if it is known; `0` if there is none.
    let length: Int64?
}

extension HeadWriter {
    /// Writes all fields but those that delimit the content and the connection. The gateway's own
    /// come last.
    ///
    /// - Parameter isWritten: whether a field of the response is written, by its name in lower
    ///   case.
    mutating func writeFields(_ head: GatewayResponseHead, where isWritten: (String) -> Bool = { _ in true }) {
        writeFields(head.response.headerFields, where: isWritten)
        writeField("Via", head.via)
        let start = count + "Cache-Status: ".utf8.count
        writeField("Cache-Status", head.cacheStatus)
        if let digits = head.timeToLive {
            places?.timeToLive = start + digits.lowerBound..<start + digits.upperBound
        }
    }
}
