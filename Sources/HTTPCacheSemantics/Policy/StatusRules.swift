internal import HTTPTypes

/// The meaning of status codes for caches.
package enum StatusRules {
    /// Returns whether this module knows the caching rules of a status: the statuses in RFC 9110
    /// §15, and a few others such as 308, 451 and 508. RFC 9111 §5.2.2.3
    static func isUnderstood(_ code: Int) -> Bool {
        switch code {
        case 200, 201, 202, 203, 204, 205, 300, 301, 302, 303, 305, 307, 308: true
        case 400, 402, 403, 404, 405, 406, 408, 409, 410, 411, 413, 414, 415, 418, 422, 423, 424, 451: true
        case 500...508, 510: true
        default: false
        }
    }

    /// Returns whether a cache may assign a lifetime to a response with this status if its origin
    /// did not state one. RFC 9110 §15.1
    static func isHeuristicallyCacheable(_ code: Int) -> Bool {
        switch code {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// Returns whether a client's malformed request can make an origin send this status for a good
    /// target. RFC 9110 §15.5, §15.6
    ///
    /// Such a status complains about the form of the request: its syntax, method, length, content
    /// or fields. The key contains hardly any of these, so the next client would get another
    /// client's error ("cache-poisoned denial of service"). The response is stored only if an
    /// operator lists the status (``PolicyOverrides/statuses``) and something states a lifetime,
    /// and then for at most ``CachePolicy/maximumErrorLifetime``. This is narrower than RFC 9110
    /// §15.1, which lists 405, 414 and 501.
    static func needsExplicitFreshness(_ code: Int) -> Bool {
        switch code {
        case 400, 405, 406, 408, 411, 413, 414, 415, 422, 501, 505: true
        default: false
        }
    }

    /// Returns whether the status concerns the request's own credentials, conditions, ranges or
    /// connection rather than the target, or is 428, 429, 431 or 511, which RFC 6585 forbids to
    /// store.
    ///
    /// Under RFC 9111 §3, a lifetime would make any final status storable. This module never stores
    /// 401 and 407 (credentials), 412 and 416 (conditions and ranges, which the key does not
    /// contain), and 417, 421, 425 and 426 (connection), because the next request may not have the
    /// same cause. Every other status from 200 to 599, known or not (299, 499, 599), is stored if
    /// its origin states a lifetime.
    package static func isAboutTheRequest(_ code: Int) -> Bool {
        switch code {
        case 304, 401, 407, 412, 416, 417, 421, 425, 426, 428, 429, 431, 511: true
        default: false
        }
    }
}
