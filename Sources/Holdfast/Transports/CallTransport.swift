import HTTPCache

/// Sends the requests of calls. A request with retries, observers or progress goes through the
/// transports for these features; all others go directly to the base.
struct CallTransport: Transport {
    private let base: any Transport
    private let behaving: any Transport

    /// - Parameters:
    ///   - base: the transport to the origins.
    ///   - behaving: wraps the base in the transports that read a request's ``CallContext``.
    init(base: any Transport, behaving: (any Transport) -> any Transport) {
        self.base = base
        self.behaving = behaving(base)
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        try await request.context == nil ? base.send(request) : behaving.send(request)
    }
}
