import HTTPCacheSemantics
import HTTPTypes

/// A client's request, whatever protocol it came by, without its content.
struct GatewayRequest: Hashable {
    /// The protocol that a request came by, as `Via` names it. RFC 9110 §7.6.3
    enum ReceivedProtocol: Int, CaseIterable {
        case http10
        case http11
        case http2

        /// The version, as logs, metrics and traces write it.
        var version: String {
            switch self {
            case .http10: "1.0"
            case .http11: "1.1"
            case .http2: "2"
            }
        }
    }

    /// The content that follows the head.
    enum Content: Hashable {
        case none
        /// This many bytes; `0` is content too.
        case length(StatedLength)
        case unknownLength
    }

    /// The wish for another protocol in place of HTTP.
    enum Upgrade: Hashable {
        case none
        /// `Upgrade` names protocols, and a response of HTTP will do too. RFC 9110 §7.8
        case offer
        /// CONNECT with `:protocol`, and its value in lower case. RFC 8441 §4
        case connect(String)
    }

    /// The method, known or not.
    var method: HTTPRequest.Method
    /// Path and query, byte for byte, or `*`.
    var target: String
    /// The host that the request names; `nil` if it names none.
    var authority: RequestedHost?
    /// The fields in wire order, names in their case, values byte for byte.
    var fields: HTTPFields
    var receivedProtocol: ReceivedProtocol
    var content: Content
    var upgrade = Upgrade.none

    /// Whether the client takes trailers of the response. HTTP/2 has a place for them in every
    /// response; in HTTP/1.1 a client that does not ask for them may not look for them. RFC 9110
    /// §6.5.1 and §10.1.4
    var acceptsTrailers: Bool {
        switch receivedProtocol {
        case .http10: false
        case .http11: fields.listMembers(.te).contains("trailers")
        case .http2: true
        }
    }
}
