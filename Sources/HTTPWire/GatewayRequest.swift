package import HTTPCacheSemantics
package import HTTPTypes

/// A client's request without its content, independent of the protocol.
package struct GatewayRequest: Hashable {
    /// The protocol that a request was received over, as `Via` names it. RFC 9110 §7.6.3
    package enum ReceivedProtocol: Int, CaseIterable {
        case http10
        case http11
        case http2

        /// The version, as written in logs, metrics and traces.
        package var version: String {
            switch self {
            case .http10: "1.0"
            case .http11: "1.1"
            case .http2: "2"
            }
        }
    }

    /// The scheme of a target.
    package enum Scheme: String, Sendable {
        case http
        case https

        /// The port of origins that state none. RFC 9110 §4.2
        package var standardPort: UInt16 { self == .https ? 443 : 80 }
    }

    /// The beginning of the URL that a client requests, where it differs from the origin's.
    package struct Base: Hashable {
        /// `nil` for the scheme of the client's connection.
        package var scheme: Scheme?
        package var authority: RequestedHost?
        /// Empty, or with a leading slash and without a trailing one.
        package var path: String

        package init(scheme: Scheme? = nil, authority: RequestedHost?, path: String = "") {
            (self.scheme, self.authority, self.path) = (scheme, authority, path)
        }
    }

    /// The content that follows the head.
    package enum Content: Hashable {
        case none
        /// This many bytes; 0 also counts as content.
        case length(StatedLength)
        case unknownLength

        package var isNone: Bool { self == .none }
    }

    /// A request to switch from HTTP to another protocol.
    package enum Upgrade: Hashable {
        case none
        /// `Upgrade` names protocols, and an HTTP response is also acceptable. RFC 9110 §7.8
        case offer
        /// CONNECT with `:protocol`, and its value in lowercase. RFC 8441 §4
        case connect(String)

        package var isNone: Bool { self == .none }
    }

    /// The method, known or not.
    package var method: HTTPRequest.Method
    /// Path and query, byte for byte, or `*`.
    package var target: String
    /// The host that the request names; `nil` if it names none.
    package var authority: RequestedHost?
    /// The fields in wire order. Names keep their case, and values keep their bytes.
    package var fields: HTTPFields
    package var receivedProtocol: ReceivedProtocol
    package var content: Content
    package var upgrade = Upgrade.none
    /// The scheme of the origin, if the request names one: in the absolute-form, in its path, or
    /// because it arrived in a tunnel to an origin. Only a forward proxy reads it.
    package var scheme: Scheme?
    /// The URL that the client requests, where a forward proxy requests another one from the
    /// origin; `nil` if they are the same.
    package var base: Base?

    /// Creates a request that does not switch to another protocol.
    package init(
        method: HTTPRequest.Method,
        target: String,
        authority: RequestedHost?,
        fields: HTTPFields,
        receivedProtocol: ReceivedProtocol,
        content: Content
    ) {
        self.method = method
        self.target = target
        self.authority = authority
        self.fields = fields
        self.receivedProtocol = receivedProtocol
        self.content = content
    }

    /// Whether the client accepts trailers in the response. HTTP/2 can carry them in every
    /// response. An HTTP/1.1 client that does not ask for them may ignore them. RFC 9110 §6.5.1 and
    /// §10.1.4
    package var acceptsTrailers: Bool {
        switch receivedProtocol {
        case .http10: false
        case .http11: fields.listMembers(.te).contains("trailers")
        case .http2: true
        }
    }
}
