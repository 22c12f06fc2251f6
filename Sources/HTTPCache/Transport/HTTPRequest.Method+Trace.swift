package import HTTPTypes

extension HTTPRequest.Method {
    /// Whether the response to this method may be the request itself: TRACE (RFC 9110 §9.3.8), and
    /// TRACK, which some servers treat alike.
    ///
    /// Methods are case-sensitive, but some programs read them without regard to case. So no
    /// spelling of these is treated as another method.
    package var returnsRequest: Bool {
        let bytes = rawValue.utf8
        guard bytes.count == 5 else { return false }
        return ["trace", "track"].contains { $0.utf8.elementsEqual(bytes.lazy.map { $0 | 0x20 }) }
    }
}
