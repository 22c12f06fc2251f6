import HTTPCache

/// The reason that a request got no response on a connection.
struct FailedAttempt: Error {
    let error: TransportError
    /// Whether the connection closed before any byte of a response.
    let isUnanswered: Bool

    /// Returns whether the request may be sent again, on a new connection. RFC 9110 §9.2.2
    ///
    /// The origin may have acted on the request, so the request must be idempotent. Content that is
    /// read while it is sent may already be used up.
    func permitsRepeating(_ request: TransportRequest) -> Bool {
        guard isUnanswered, request.isIdempotent else { return false }
        return request.body.map { $0.whole != nil } ?? true
    }
}
