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
        var result = CachePolicy.forwardedFields(of: fields)
        result.removeAll { field in
            switch field.name.canonicalName {
            case "host", "content-length", "expect": true
            case let name: overwritten.contains(name)
            }
        }
        return result
    }

    /// A response's fields without those that end here.
    static func ofResponse(_ fields: HTTPFields) -> HTTPFields { policy.forwardedResponseFields(of: fields) }
}
