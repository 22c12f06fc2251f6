import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration

/// Which fields a gateway forwards or drops. RFC 9110 §7.6.1
///
/// The policy knows connection-specific fields, and which fields `Connection` may remove. This type
/// adds the fields that a gateway replaces.
enum ForwardedFields {
    private static let policy = CachePolicy(kind: .shared)

    /// The forwarded fields of a request.
    struct Passing {
        var fields: HTTPFields
        /// Whether the response may be stored; `false` if a forwarded field might change the
        /// response and is not in the key.
        var isStorable = true
    }

    /// The fields of a request to forward. The sender writes framing fields and `Host` itself.
    ///
    /// Fields in which a client states its own identity, its path to this gateway, or another
    /// target are dropped. The gateway's own values replace them (``RequestFieldTable``). None of
    /// them is in the key: if an origin builds a page from one, every client would get that page.
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
            // Checked before the table, because a family in the table may have a name with such a
            // character, and a trusted client forwards what its own clients sent.
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

    /// The fields of a response to forward.
    static func ofResponse(_ fields: HTTPFields) -> HTTPFields { policy.forwardedResponseFields(of: fields) }

    private static let overHTTP = HTTPField(name: .xForwardedProto, value: "http")
    private static let overHTTPS = HTTPField(name: .xForwardedProto, value: "https")

    /// Adds the client's address and protocol, in the field of RFC 7239 and in the older fields
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
            // The proxy's own address would follow, but there is none.
            fields.append(
                HTTPField(name: .xForwardedFor, value: claimed[values: .xForwardedFor].joined(separator: ", "))
            )
        }
        for own in client.fields {
            guard claimed.contains(own.name) else {
                fields.append(own)
                continue
            }
            if own.name == .xForwardedProto {
                // A proxy that terminates TLS knows its client's protocol, whatever protocol it
                // uses with this gateway.
                switch claimed[.xForwardedProto]?.lowercased() {
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
}
