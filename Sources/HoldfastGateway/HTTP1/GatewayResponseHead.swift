import HTTPTypes

/// The head of an answer: the cache's, and beside it what this gateway says of itself in each.
///
/// The two are put together on the wire and not before: fields that others hold as well would be
/// copied for it.
struct GatewayResponseHead: Sendable {
    /// Status and fields, those of caches nearer to the origin among them.
    var response: HTTPResponse
    /// RFC 9110 §7.6.3
    let via: String
    /// This gateway's member of the list. RFC 9211 §2
    let cacheStatus: String
    /// Bytes in the content, where that is known; `0` where there is none.
    let length: Int64?
}

extension HeadWriter {
    /// All fields but those that delimit the content and the connection: the gateway's own behind
    /// those of others.
    ///
    /// - Parameter isWritten: whether a name of the response's, in lower case, is.
    mutating func writeFields(_ head: GatewayResponseHead, where isWritten: (String) -> Bool = { _ in true }) {
        writeFields(head.response.headerFields, where: isWritten)
        writeField("Via", head.via)
        writeField("Cache-Status", head.cacheStatus)
    }
}
