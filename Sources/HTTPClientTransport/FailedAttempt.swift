import HTTPCache

/// The reason why a request got no response on one connection.
struct FailedAttempt: Error {
    let error: TransportError
    /// Whether the connection closed before any byte of a response.
    let isUnanswered: Bool

    /// Whether the request may be sent again, on a new connection. RFC 9110 §9.2.2
    ///
    /// The origin may have acted on it, so it must be idempotent. Content that is read while it is
    /// sent may be used up.
    func permitsRepeating(_ request: TransportRequest) -> Bool {
        guard isUnanswered, request.isIdempotent else { return false }
        return request.body.map { $0.whole != nil } ?? true
    }
}
