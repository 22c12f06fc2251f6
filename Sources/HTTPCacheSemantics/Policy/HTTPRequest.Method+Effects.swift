package import HTTPTypes

extension HTTPRequest.Method {
    /// Whether the method only reads. Any other method, including an unknown method, may have
    /// changed the resource. RFC 9110 §9.2.1, RFC 9111 §4.4, and RFC 10008 for QUERY
    package var isSafe: Bool {
        switch rawValue {
        case "GET", "HEAD", "OPTIONS", "TRACE", "QUERY": true
        default: false
        }
    }

    /// Whether two requests have the same effect as one. RFC 9110 §9.2.2
    package var isIdempotent: Bool { isSafe || rawValue == "PUT" || rawValue == "DELETE" }
}
