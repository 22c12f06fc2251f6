package import HTTPTypes

/// Decides which trailer fields may be forwarded, in either direction and over any protocol. RFC
/// 9110 §6.5.1
///
/// Trailers arrive after the message has been acted on, so they cannot frame, route, authenticate
/// or modify it. But a program that merges trailers into the head would treat such a field as part
/// of the head, which was checked without it. Fields of these kinds are therefore dropped. Other
/// fields are forwarded, such as checksums, signatures, timings and call status.
package struct TrailerRules: Sendable {
    /// The lower-case names of hop-by-hop fields that the message lists. RFC 9110 §7.6.1
    private let nominated: [String]

    /// Creates the rules for messages without `Connection`.
    package init() { nominated = [] }

    /// - Parameter head: the header fields of the message.
    package init(_ head: HTTPFields) { nominated = FieldNameList.nominated(in: head) }

    /// Returns the fields that may be forwarded, in wire order, or `nil` if there are none.
    package func passing(_ section: HTTPFields) -> HTTPFields? {
        // Use a set for long lists, so that the time stays proportional to their length even if a
        // peer sends a thousand names.
        let many = nominated.count > 8 ? Set(nominated) : nil
        var passing = section
        passing.removeAll { field in
            let name = field.name.canonicalName
            return !Self.mayPass(name) || (many?.contains(name) ?? nominated.contains(name))
        }
        return passing.isEmpty ? nil : passing
    }

    private static func mayPass(_ name: String) -> Bool {
        if passingContentFields.contains(name) { return true }
        if FieldRules.isHopByHop(name) || FieldRules.isReadAsAnother(name) { return false }
        if RequestFieldTable.known.entry(of: name) != nil || responseFields.contains(name) { return false }
        return !families.contains { name.hasPrefix($0) } && !name.hasSuffix("-cache-control")
    }

    /// The fields that describe the content but can be known only at its end. RFC 9530
    private static let passingContentFields: Set<String> = ["content-digest", "content-md5"]

    /// Response fields that take effect if a program merges them into the head. The request fields
    /// are in ``RequestFieldTable``.
    private static let responseFields: Set<String> = [
        "age", "allow", "alt-svc", "authentication-control", "authentication-info", "cache-status", "cache-groups",
        "cache-group-invalidation", "clear-site-data", "expires", "keep-alive", "location", "no-vary-search",
        "optional-www-authenticate", "permissions-policy", "proxy-status", "referrer-policy", "refresh",
        "retry-after", "server", "set-cookie", "set-cookie2", "strict-transport-security", "surrogate-control",
        "vary", "warning", "www-authenticate", "x-cache", "x-content-type-options", "x-frame-options", "x-sendfile",
    ]

    /// Prefixes of names that proxies and servers interpret as commands, or browsers as policy.
    private static let families = [
        "access-control-", "cross-origin-", "proxy-", "x-accel-", "x-forwarded-", "x-lighttpd-", "x-litespeed-",
    ]
}
