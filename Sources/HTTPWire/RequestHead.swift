import HTTPCacheSemantics
package import HTTPTypes

/// A request's head received over HTTP/1, after validation.
package struct RequestHead: Hashable {
    /// The request without the parts that are specific to HTTP/1 and the connection. Its authority
    /// comes from the absolute-form, or otherwise from `Host`. The authority is `nil` only for
    /// HTTP/1.0. RFC 9112 §3.2.2
    package var request: GatewayRequest
    /// The framing; never `untilClose`.
    var framing: Framing
    /// Whether another request may follow. RFC 9112 §9.3
    var isKeptAlive: Bool
    /// Whether the client waits for a 100 before sending its content. RFC 9110 §10.1.1
    package var expectsContinue: Bool

    /// Whether there is content, possibly empty.
    package var hasContent: Bool { framing != .none }
}

extension RequestHead {
    /// Combines the line and the fields, and rejects requests that programs read differently.
    init(_ line: RequestLine, _ fields: HTTPFields) throws(MessageRefusal) {
        var authority: RequestedHost?
        var hasHost = false
        for index in fields.indices where fields[index].name.canonicalName == "host" {
            guard !hasHost else { throw MessageRefusal(.host, .repeatedHost) }
            guard let value = Self.authority(fields[index]) else { throw MessageRefusal(.host) }
            authority = value
            hasHost = true
        }
        guard hasHost || line.receivedProtocol == .http10 else { throw MessageRefusal(.host, .missingHost) }
        let target: String
        var requestedScheme: GatewayRequest.Scheme?
        switch line.target {
        case .origin(let text): target = text
        case .asterisk: target = "*"
        case .absolute(let scheme, let named, let pathAndQuery):
            guard let host = RequestedHost(named) else { throw MessageRefusal(.target) }
            target = pathAndQuery
            authority = host
            requestedScheme = scheme
        }
        let framing = try Framing(fields, minorVersion: line.receivedProtocol == .http10 ? 0 : 1) ?? .none
        try self.init(line, target: target, authority: authority, fields, framing)
        request.scheme = requestedScheme
    }

    /// Combines validated parts in any protocol.
    package init(
        _ line: RequestLine,
        target: String,
        authority: RequestedHost?,
        _ fields: HTTPFields,
        _ framing: Framing
    ) throws(MessageRefusal) {
        self.framing = framing
        let content: GatewayRequest.Content =
            switch framing {
            case .none, .untilClose: .none
            case .length(let length): .length(length)
            case .chunked: .unknownLength
            }
        self.request = GatewayRequest(
            method: line.method,
            target: target,
            authority: authority,
            fields: fields,
            receivedProtocol: line.receivedProtocol,
            content: content
        )
        let connection = ConnectionOptions(fields)
        // HTTP/1.0 ignores `Upgrade`. RFC 9110 §7.8
        if connection.upgrades, line.receivedProtocol == .http11 { request.upgrade = .offer }
        self.isKeptAlive = !connection.closes && (line.receivedProtocol != .http10 || connection.keepsAlive)
        let expectations = fields.listMembers(.expect)
        guard expectations.allSatisfy({ $0 == "100-continue" }) else {
            throw MessageRefusal(.expectation, status: 417)
        }
        // `Expect` has no meaning in HTTP/1.0. RFC 9110 §10.1.1
        self.expectsContinue = !expectations.isEmpty && line.receivedProtocol != .http10 && framing != .none
    }

    /// Parses a host and an optional port, without user information. RFC 9110 §4.2.4 and §7.2
    package static func authority(_ host: HTTPField) -> RequestedHost? {
        host.withUnsafeBytesOfValue { RequestedHost($0) }
    }
}
