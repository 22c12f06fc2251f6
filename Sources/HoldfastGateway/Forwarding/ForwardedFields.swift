import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration

/// Decides which fields a gateway forwards or drops. RFC 9110 §7.6.1
///
/// `CachePolicy` knows connection-specific fields, and which fields `Connection` may remove. This
/// type adds the rules for fields that a gateway replaces.
enum ForwardedFields {
    private static let policy = CachePolicy(kind: .shared)

    /// A request's forwarded fields.
    struct Passing {
        var fields: HTTPFields
        /// Whether the response may be stored; `false` if a forwarded field might change the
        /// response and is not in the key.
        var isStorable = true
    }

    /// Returns the fields of a request to forward. The sender writes framing fields and `Host`
    /// itself.
    ///
    /// Drops fields in which a client states its own identity, its path to this gateway, or another
    /// target. A trusted client keeps those that the gateway does not set itself. The gateway's own
    /// values replace the dropped fields (``RequestFieldTable``). These fields are not in the key:
    /// if an origin built a page from one of them, every client would get that page.
    ///
    /// - Parameters:
    ///   - isTrusted: whether the client is a proxy that may state more about its own clients.
    static func ofRequest(
        _ fields: HTTPFields,
        isTrusted: Bool,
        underscored: GatewayConfiguration.UnderscoredFields,
        unknown: Configuration.FieldHandling
    ) -> Passing {
        var isStorable = true
        let passing = CachePolicy.forwardedFields(of: fields) { name in
            switch name {
            case "content-length", "expect", "host": return true
            default: break
            }
            // Checked before the table. A family of names in the table may include such a name, and
            // a trusted client may forward a field that its own client sent.
            if FieldRules.isReadAsAnother(name) {
                guard underscored == .pass else { return true }
                isStorable = false
            }
            if let entry = RequestFieldTable.claims.entry(of: name) { return entry.isSetByGateway || !isTrusted }
            guard unknown != .pass, RequestFieldTable.known.entry(of: name) == nil else { return false }
            guard unknown != .drop else { return true }
            isStorable = false
            return false
        }
        return Passing(fields: passing, isStorable: isStorable)
    }

    /// Returns the fields of a response to forward.
    static func ofResponse(_ fields: HTTPFields) -> HTTPFields { policy.forwardedResponseFields(of: fields) }

    private static let overHTTP = HTTPField(name: .xForwardedProto, value: "http")
    private static let overHTTPS = HTTPField(name: .xForwardedProto, value: "https")

    /// Adds the client's address and protocol, in `Forwarded` (RFC 7239) and in the older fields
    /// with the same meaning.
    ///
    /// - Parameters:
    ///   - claimed: the fields of a client that may state its own clients' addresses; empty for any
    ///     other client.
    static func appendClient(_ client: GatewayClient, to fields: inout HTTPFields, behind claimed: HTTPFields) {
        if claimed.isEmpty {
            for field in client.fields { fields.append(field) }
            return
        }
        if client.isLocal, claimed.contains(.xForwardedFor) {
            // The proxy's own address would follow, but a Unix socket has none.
            fields.append(
                HTTPField(name: .xForwardedFor, value: claimed[values: .xForwardedFor].joined(separator: ", "))
            )
        }
        for own in client.fields {
            guard claimed.contains(own.name) else {
                let first = own.name == .forwarded ? element(of: claimed) : nil
                fields.append(first.map { HTTPField(name: own.name, value: "\($0), \(own.value)") } ?? own)
                continue
            }
            if own.name == .xForwardedProto {
                // A proxy that terminates TLS knows its client's protocol, whatever protocol it
                // uses with this gateway.
                switch GatewayClient.scheme(claimedIn: claimed) {
                case "https": fields.append(overHTTPS)
                case "http": fields.append(overHTTP)
                default: fields.append(own)
                }
            } else {
                var values = claimed[fields: own.name].map(\.value).filter { !$0.isEmpty }
                if own.name == .forwarded { values = values.compactMap { ForwardedElements.withoutHost($0) } }
                values.append(own.value)
                fields.append(HTTPField(name: own.name, value: values.joined(separator: ", ")))
            }
        }
    }

    /// Returns a `Forwarded` element with the values of the older fields, for a proxy that sends
    /// only those; `nil` if they state no protocol.
    ///
    /// The gateway's own element describes the proxy. An origin that reads `Forwarded` would take
    /// the proxy's protocol for the client's, and might redirect to https forever.
    private static func element(of claimed: HTTPFields) -> String? {
        guard let scheme = GatewayClient.scheme(claimedIn: claimed) else { return nil }
        let first = claimed[values: .xForwardedFor].first?.split(separator: ",").first
        let address = first.map { GatewayClient.address(in: $0) } ?? ""
        let isAddress = address.allSatisfy { $0.isHexDigit || $0 == "." || $0 == ":" } && AddressRange(address) != nil
        return "for=\(isAddress ? GatewayClient.node(address) : "unknown");proto=\(scheme)"
    }
}
