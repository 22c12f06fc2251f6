/// The rules for fields that are never stored. RFC 9111 §3.1
package enum FieldRules {
    /// The maximum number of fields. `HTTPFields` traps at 65,535.
    static let maximumCount = 65_000

    /// Returns whether programs may read the name as a different name, because it contains a
    /// character other than a letter, a digit or a hyphen.
    ///
    /// CGI writes names with `_` in place of hyphens (RFC 3875 §4.1.18), and some servers replace
    /// every character that a variable name cannot contain. lighttpd reads `X.Forwarded.Host` and
    /// `X~Forwarded~Host` as `HTTP_X_FORWARDED_HOST`; PHP does the same for some names.
    ///
    /// - Parameter canonicalName: the name in lower case.
    package static func isReadAsAnother(_ canonicalName: String) -> Bool {
        !canonicalName.utf8.allSatisfy { $0.isAlpha || $0.isDigit || $0 == UInt8(ascii: "-") }
    }

    /// Returns whether the field is hop-by-hop (RFC 9110 §7.6.1) or between a client and a proxy.
    /// `Trailer` counts too, because trailers are not stored.
    package static func isHopByHop(_ canonicalName: String) -> Bool {
        // Compare lengths first: this runs for every field of every message.
        switch canonicalName.utf8.count {
        case 2: canonicalName == "te"
        case 7: canonicalName == "trailer" || canonicalName == "upgrade"
        case 10: canonicalName == "connection" || canonicalName == "keep-alive"
        case 14: canonicalName == "http2-settings"
        case 16: canonicalName == "proxy-connection"
        case 17: canonicalName == "transfer-encoding"
        case 18: canonicalName == "proxy-authenticate"
        case 19: canonicalName == "proxy-authorization"
        case 25: canonicalName == "proxy-authentication-info"
        default: false
        }
    }

    /// Returns whether `Connection` cannot remove the field. Without it, a stored response would be
    /// fresher, more widely usable, or different from what its origin stated.
    ///
    /// RFC 9110 §7.6.1 forbids senders from listing these fields.
    static func isProtected(_ canonicalName: String) -> Bool {
        switch canonicalName {
        case "age", "cache-control", "cdn-cache-control", "date", "etag", "expires", "last-modified", "vary": true
        case "content-encoding", "content-length", "content-range", "content-type": true
        default: false
        }
    }

    /// Returns whether a 304 never replaces the stored field, because the field describes the
    /// stored bytes. RFC 9111 §3.2
    static func isFixedByContent(_ canonicalName: String) -> Bool {
        switch canonicalName {
        case "content-encoding", "content-length", "content-range": true
        default: false
        }
    }
}
