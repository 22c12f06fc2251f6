import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration

/// The fields that a gateway forwards, and those that it drops. RFC 9110 §7.6.1
///
/// The policy knows the fields of a connection, and which fields `Connection` may remove. This type
/// adds the fields that a gateway replaces.
enum ForwardedFields {
    private static let policy = CachePolicy(kind: .shared)

    /// The fields of a request that are forwarded.
    struct Passing {
        var fields: HTTPFields
        /// Whether the response may be stored: `false` if a field passes that might change the
        /// response and is not in the key.
        var isStorable = true
    }

    /// The fields of a request that are forwarded. The sender writes framing and `Host` itself.
    ///
    /// Fields by which a client states its own identity, its path to this gateway, or another
    /// target are dropped. The gateway's own values replace them (``RequestFieldTable``). None of
    /// them is in the key: if an origin builds a page from one, every client gets that page.
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
            // Before the table: a family in it may have a name with such a character, and a trusted
            // client passes on what its own clients sent.
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

    /// The fields of a response that are forwarded.
    static func ofResponse(_ fields: HTTPFields) -> HTTPFields { policy.forwardedResponseFields(of: fields) }

    private static let overHTTP = HTTPField(name: .xForwardedProto, value: "http")
    private static let overHTTPS = HTTPField(name: .xForwardedProto, value: "https")

    /// Adds the client's address and protocol. RFC 7239, and the older fields of the same meaning.
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
            // The proxy's own address, which would follow, is none.
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
                // A proxy that terminates TLS knows its client's protocol, whatever it speaks to
                // this gateway.
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
