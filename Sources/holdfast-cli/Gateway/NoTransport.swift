import HTTPCache
import Holdfast

/// A transport that opens no connection, for commands that must not contact an origin.
struct NoTransport: Transport {
    func send(_ request: TransportRequest) async throws -> TransportResponse {
        throw TransportError(code: .invalidRequest, message: "This command sends no request to an origin.")
    }
}
