import HTTPCache

/// Sends the requests of calls: those that ask for something beside the answer (retries, observers,
/// progress) by way of what sees to it, and all others straight on.
struct CallTransport: Transport {
    private let base: any Transport
    private let behaving: any Transport

    /// - Parameters:
    ///   - base: the way to the origins.
    ///   - behaving: what reads a request's ``CallContext``, on the same base.
    init(base: any Transport, behaving: (any Transport) -> any Transport) {
        self.base = base
        self.behaving = behaving(base)
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        try await request.context == nil ? base.send(request) : behaving.send(request)
    }
}
