import HTTPCacheSemantics
import HTTPTypes

/// A client's request without its content, independent of the protocol.
struct GatewayRequest: Hashable {
    /// The protocol that a request was received over, as `Via` names it. RFC 9110 §7.6.3
    enum ReceivedProtocol: Int, CaseIterable {
        case http10
        case http11
        case http2

        /// The version, as written in logs, metrics and traces.
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
        /// This many bytes; 0 also counts as content.
        case length(StatedLength)
        case unknownLength
    }

    /// A request to switch from HTTP to another protocol.
    enum Upgrade: Hashable {
        case none
        /// `Upgrade` names protocols, and an HTTP response is also acceptable. RFC 9110 §7.8
        case offer
        /// CONNECT with `:protocol`, and its value in lowercase. RFC 8441 §4
        case connect(String)
    }

    /// The method, known or not.
    var method: HTTPRequest.Method
    /// Path and query, byte for byte, or `*`.
    var target: String
    /// The host that the request names; `nil` if it names none.
    var authority: RequestedHost?
    /// The fields in wire order. Names keep their case, and values keep their bytes.
    var fields: HTTPFields
    var receivedProtocol: ReceivedProtocol
    var content: Content
    var upgrade = Upgrade.none

    /// Whether the client accepts trailers in the response. HTTP/2 can carry them in every
    /// response. An HTTP/1.1 client that does not ask for them may ignore them. RFC 9110 §6.5.1 and
    /// §10.1.4
    var acceptsTrailers: Bool {
        switch receivedProtocol {
        case .http10: false
        case .http11: fields.listMembers(.te).contains("trailers")
        case .http2: true
        }
    }
}
