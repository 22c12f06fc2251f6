import HTTPTypes

/// Which fields pass a gateway, and which end at it. RFC 9110 §7.6.1
enum ForwardedFields {
    /// Fields about one connection. RFC 9110 §7.6.1, RFC 9112 §9.7, and those known from practice.
    ///
    /// `Trailer` announces what is dropped here, `Upgrade` and `HTTP2-Settings` ask for another protocol on this connection.
    private static let hopByHop: Set<String> = [
        "connection", "proxy-connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
        "http2-settings", "proxy-authenticate", "proxy-authorization", "proxy-authentication-info",
    ]

    /// What a client says about itself and its way here, or about another target than its own; this gateway's word takes its place.
    ///
    /// An origin that builds a page from one of them, none of which is in the key, has built it for everybody.
    private static let overwritten: Set<String> = [
        "forwarded", "x-forwarded", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-scheme",
        "x-forwarded-port", "x-forwarded-server", "x-forwarded-ssl", "x-forwarded-prefix", "x-real-ip",
        "x-original-url", "x-original-host", "x-rewrite-url", "x-http-method-override", "x-http-method",
        "x-method-override", "x-host",
    ]

    /// Fields that a client's `Connection` cannot take away: they decide what is stored, for whom, and who may see it.
    private static let protected: Set<String> = [
        "accept", "accept-encoding", "accept-language", "authorization", "cache-control", "content-encoding",
        "content-language", "content-location", "content-range", "content-type", "cookie", "date", "host", "if-match",
        "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "max-forwards", "origin", "pragma",
        "range", "via",
    ]

    /// A request's fields without those that end here. Framing and `Host` are the sender's to write.
    static func ofRequest(_ fields: HTTPFields) -> HTTPFields {
        let nominated = Set(fields.listMembers(.connection)).subtracting(protected)
        return HTTPFields(
            fields.filter { field in
                let name = field.name.canonicalName
                return !hopByHop.contains(name) && !overwritten.contains(name) && !nominated.contains(name)
                    && name != "host" && name != "content-length" && name != "expect"
            }
        )
    }

    /// A response's fields without those that end here.
    static func ofResponse(_ fields: HTTPFields) -> HTTPFields {
        let nominated = Set(fields.listMembers(.connection))
        return HTTPFields(
            fields.filter { field in
                let name = field.name.canonicalName
                // Length and caching are not a connection's affair, whatever an origin says.
                return !hopByHop.contains(name)
                    && (!nominated.contains(name) || name == "content-length" || name == "cache-control")
            }
        )
    }
}
