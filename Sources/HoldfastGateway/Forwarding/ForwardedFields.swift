import HTTPCacheSemantics
import HTTPTypes

/// Which fields pass a gateway, and which end at it. RFC 9110 §7.6.1
///
/// What a connection's fields are and what `Connection` may take away is the policy's knowledge;
/// here stands what a gateway overwrites besides.
enum ForwardedFields {
    private static let policy = CachePolicy(kind: .shared)

    /// What passes of a request's fields.
    struct Passing {
        var fields: HTTPFields
        /// Nothing passes that says something unknown, where what that leads to may not be stored.
        var isStorable = true
    }

    /// A request's fields without those that end here. Framing and `Host` are the sender's to
    /// write.
    ///
    /// What a client says about itself, its way here, or another target than its own ends here, and
    /// this gateway's word takes its place (``RequestFieldTable``). None of that is in the key: an
    /// origin that builds a page from it has built it for everybody.
    ///
    /// - Parameters:
    ///   - isTrusted: the client is a proxy, which may say more about its own clients.
    static func ofRequest(
        _ fields: HTTPFields,
        isTrusted: Bool,
        underscored: GatewayConfiguration.UnderscoredFields,
        unknown: GatewayRoute.UnknownFields
    ) -> Passing {
        var isStorable = true
        let passing = CachePolicy.forwardedFields(of: fields) { name in
            switch name {
            case "content-length", "expect", "host": return true
            default: break
            }
            if let entry = RequestFieldTable.claims.entry(of: name) { return entry.isGateways || !isTrusted }
            if name.utf8.contains(UInt8(ascii: "_")) {
                guard underscored == .pass else { return true }
                isStorable = false
            }
            guard unknown != .pass, RequestFieldTable.known.entry(of: name) == nil else { return false }
            guard unknown != .drop else { return true }
            isStorable = false
            return false
        }
        return Passing(fields: passing, isStorable: isStorable)
    }

    /// A response's fields without those that end here.
    static func ofResponse(_ fields: HTTPFields) -> HTTPFields { policy.forwardedResponseFields(of: fields) }

    private static let overHTTPS = HTTPField(name: .xForwardedProto, value: "https")

    /// Says who asks, and over what. RFC 7239, and the fields that were there before it.
    ///
    /// - Parameters:
    ///   - claimed: the fields of a client that may speak for others; of none, what they say is not
    ///     looked at.
    static func appendClient(_ client: GatewayClient, to fields: inout HTTPFields, behind claimed: HTTPFields) {
        if claimed.isEmpty {
            for field in client.fields { fields.append(field) }
            return
        }
        for own in client.fields {
            guard claimed.contains(own.name) else {
                fields.append(own)
                continue
            }
            if own.name == .xForwardedProto {
                // A proxy that ends TLS knows what its client spoke; this gateway is spoken to in
                // the clear.
                fields.append(claimed[.xForwardedProto]?.lowercased() == "https" ? overHTTPS : own)
            } else {
                let values = claimed[fields: own.name].map(\.value).filter { !$0.isEmpty } + [own.value]
                fields.append(HTTPField(name: own.name, value: values.joined(separator: ", ")))
            }
        }
    }
}
