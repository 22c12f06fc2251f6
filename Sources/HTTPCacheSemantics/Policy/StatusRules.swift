internal import HTTPTypes

/// The meaning of status codes for a cache.
enum StatusRules {
    /// Whether this module knows the caching rules of a status: those of RFC 9110 §15, and 308,
    /// 451, 508 …. RFC 9111 §5.2.2.3
    static func isUnderstood(_ code: Int) -> Bool {
        switch code {
        case 200, 201, 202, 203, 204, 205, 300, 301, 302, 303, 305, 307, 308: true
        case 400, 402, 403, 404, 405, 406, 408, 409, 410, 411, 413, 414, 415, 418, 422, 423, 424, 451: true
        case 500...508, 510: true
        default: false
        }
    }

    /// Whether a cache may give the status a lifetime that its origin did not state. RFC 9110 §15.1
    static func isHeuristicallyCacheable(_ code: Int) -> Bool {
        switch code {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// Whether a client's malformed request can make an origin send this status for a good target.
    /// RFC 9110 §15.5, §15.6
    ///
    /// Such a status complains about the request's form: its syntax, method, length, content or
    /// fields. Hardly any of that is in the key, so the next client would get another client's
    /// error ("cache-poisoned denial of service"). It is stored only if an operator names the
    /// status (``PolicyOverrides/statuses``) and something states a lifetime, and then for no
    /// longer than ``CachePolicy/maximumErrorLifetime``. This is narrower than RFC 9110 §15.1,
    /// which lists 405, 414 and 501.
    static func needsExplicitFreshness(_ code: Int) -> Bool {
        switch code {
        case 400, 405, 406, 408, 411, 413, 414, 415, 422, 501, 505: true
        default: false
        }
    }

    /// Whether the status concerns the request's own credentials, conditions, ranges or connection,
    /// and not the target; and 428, 429, 431 and 511, which RFC 6585 forbids to store.
    ///
    /// RFC 9111 §3 would let a lifetime make any final status storable. This module never stores
    /// 401 and 407 (credentials), 412 and 416 (conditions and ranges, neither of them in the key),
    /// 417, 421, 425 and 426 (connection): the next request may lack what provoked them. Every
    /// other status from 200 to 599, known or not (299, 499, 599), is stored if its origin gives it
    /// a lifetime.
    static func isAboutTheRequest(_ code: Int) -> Bool {
        switch code {
        case 304, 401, 407, 412, 416, 417, 421, 425, 426, 428, 429, 431, 511: true
        default: false
        }
    }
}
