import HTTPTypes

/// A request's head as received over HTTP/1, after the checks.
struct RequestHead: Hashable {
    /// The method, known or not.
    var method: HTTPRequest.Method
    /// Origin-form (path and query, byte for byte) or `*`. RFC 9112 §3.2
    var target: String
    /// The authority, from the absolute-form or else from `Host`; `nil` only for HTTP/1.0. RFC 9112
    /// §3.2.2
    var authority: String?
    /// 0 or 1; a later minor version is treated as 1.
    var minorVersion: Int
    /// The fields in wire order, names in their case, values byte for byte.
    var fields: HTTPFields
    /// The framing; never `untilClose`.
    var framing: Framing
    /// Whether another request may follow. RFC 9112 §9.3
    var isKeptAlive: Bool
    /// Whether the client waits for a 100 before it sends its content. RFC 9110 §10.1.1
    var expectsContinue: Bool

    /// Whether there is content, even if it is empty.
    var hasContent: Bool { framing != .none }
}

extension RequestHead {
    /// The request without what belongs to HTTP/1 and the connection.
    var request: GatewayRequest {
        let content: GatewayRequest.Content =
            switch framing {
            case .none, .untilClose: .none
            case .length(let length): .length(length)
            case .chunked: .unknownLength
            }
        return GatewayRequest(
            method: method,
            target: target,
            authority: authority,
            fields: fields,
            receivedProtocol: minorVersion == 0 ? .http10 : .http11,
            content: content
        )
    }
}
