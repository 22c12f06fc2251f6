import HTTPCacheSemantics
import HTTPTypes

/// Which fields pass a gateway, and which end at it. RFC 9110 §7.6.1
///
/// What a connection's fields are and what `Connection` may take away is the policy's knowledge; here stands what a gateway overwrites besides.
enum ForwardedFields {
    private static let policy = CachePolicy(kind: .shared)

    /// What a client says about itself and its way here, or about another target than its own; this gateway's word takes its place.
    ///
    /// An origin that builds a page from one of them, none of which is in the key, has built it for everybody.
    private static let overwritten: Set<String> = [
        "forwarded", "x-forwarded", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-scheme",
        "x-forwarded-port", "x-forwarded-server", "x-forwarded-ssl", "x-forwarded-prefix", "x-real-ip",
        "x-original-url", "x-original-host", "x-rewrite-url", "x-http-method-override", "x-http-method",
        "x-method-override", "x-host", "http2-settings",
    ]

    /// A request's fields without those that end here. Framing and `Host` are the sender's to write.
    static func ofRequest(_ fields: HTTPFields) -> HTTPFields {
        CachePolicy.forwardedFields(of: fields) { name in
            switch name.utf8.first {
            case UInt8(ascii: "c"): name == "content-length"
            case UInt8(ascii: "e"): name == "expect"
            case UInt8(ascii: "h"): name == "host" || overwritten.contains(name)
            case UInt8(ascii: "f"), UInt8(ascii: "x"): overwritten.contains(name)
            default: false
            }
        }
    }

    /// A response's fields without those that end here.
    static func ofResponse(_ fields: HTTPFields) -> HTTPFields { policy.forwardedResponseFields(of: fields) }

    private static let overHTTPS = HTTPField(name: .xForwardedProto, value: "https")

    /// Says who asks, and over what. RFC 7239, and the fields that were there before it.
    ///
    /// - Parameters:
    ///   - claimed: the fields of a client that may speak for others; of none, what they say is not looked at.
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
                // A proxy that ends TLS knows what its client spoke; this gateway is spoken to in the clear.
                fields.append(claimed[.xForwardedProto]?.lowercased() == "https" ? overHTTPS : own)
            } else {
                let values = claimed[fields: own.name].map(\.value).filter { !$0.isEmpty } + [own.value]
                fields.append(HTTPField(name: own.name, value: values.joined(separator: ", ")))
            }
        }
    }
}
