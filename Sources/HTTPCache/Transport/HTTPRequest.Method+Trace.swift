package import HTTPTypes

extension HTTPRequest.Method {
    /// Whether the response to this method may contain the request itself. This is true for TRACE
    /// (RFC 9110 §9.3.8), and for TRACK, which some servers treat alike.
    ///
    /// Methods are case-sensitive, but some programs compare them case-insensitively. Therefore
    /// every combination of upper and lower case counts.
    package var returnsRequest: Bool {
        let bytes = rawValue.utf8
        guard bytes.count == 5 else { return false }
        return ["trace", "track"].contains { $0.utf8.elementsEqual(bytes.lazy.map { $0 | 0x20 }) }
    }
}
