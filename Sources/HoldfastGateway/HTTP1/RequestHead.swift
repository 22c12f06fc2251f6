import HTTPTypes

/// A request's head as it came over HTTP/1, checked.
struct RequestHead: Hashable {
    /// Known or not.
    var method: HTTPRequest.Method
    /// Origin-form (path and query, byte for byte) or `*`. RFC 9112 §3.2
    var target: String
    /// From the absolute-form or else from `Host`; `nil` only for HTTP/1.0. RFC 9112 §3.2.2
    var authority: String?
    /// 0 or 1; a later minor version counts as 1.
    var minorVersion: Int
    /// In wire order, names in their case, values byte for byte.
    var fields: HTTPFields
    /// Never `untilClose`.
    var framing: Framing
    /// Whether another request may follow. RFC 9112 §9.3
    var isKeptAlive: Bool
    /// The client waits for a 100 before it sends its content. RFC 9110 §10.1.1
    var expectsContinue: Bool

    /// Whether there is content, if only of no bytes.
    var hasContent: Bool { framing != .none }
}
