package import HTTPTypes

/// Judges which fields of a trailer section may pass on, in either direction and by any protocol.
/// RFC 9110 §6.5.1
///
/// A trailer comes when the message has been acted upon: it cannot frame, route, authenticate or
/// modify it. Programs that join trailers with the head all the same would take such a field for a
/// part of the head, which was judged without it. So each of these is left out, and the others
/// pass: checksums, signatures, timings, the status of a call.
package struct TrailerRules: Sendable {
    /// The names of fields that end with the connection, in lower case. RFC 9110 §7.6.1
    private let nominated: [String]

    /// For messages without `Connection`.
    package init() { nominated = [] }

    /// - Parameter head: the fields of the message's head.
    package init(_ head: HTTPFields) { nominated = FieldNameList.nominated(in: head) }

    /// The fields that may pass, in wire order; `nil` if there are none.
    package func passing(_ section: HTTPFields) -> HTTPFields? {
        // A set if there are many, so that a thousand names from a peer cost no more than their
        // bytes.
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

    /// Of the fields that describe the content, those that can be known only at its end. RFC 9530
    private static let passingContentFields: Set<String> = ["content-digest", "content-md5"]

    /// Fields of responses that act as soon as a program takes them for a part of the head. Those
    /// of requests are in ``RequestFieldTable``.
    private static let responseFields: Set<String> = [
        "age", "allow", "alt-svc", "authentication-control", "authentication-info", "cache-status", "cache-groups",
        "cache-group-invalidation", "clear-site-data", "expires", "keep-alive", "location", "no-vary-search",
        "optional-www-authenticate", "permissions-policy", "proxy-status", "referrer-policy", "refresh",
        "retry-after", "server", "set-cookie", "set-cookie2", "strict-transport-security", "surrogate-control",
        "vary", "warning", "www-authenticate", "x-cache", "x-content-type-options", "x-frame-options", "x-sendfile",
    ]

    /// Beginnings of names that proxies and servers take as orders, or browsers as policy.
    private static let families = [
        "access-control-", "cross-origin-", "proxy-", "x-accel-", "x-forwarded-", "x-lighttpd-", "x-litespeed-",
    ]
}
