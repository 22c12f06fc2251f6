import HTTPCache

/// Reports the upload progress of requests.
struct ProgressTransport: Transport {
    let base: any Transport

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard let body = request.body, let handler = (request.context as? CallContext)?.onProgress else {
            return try await base.send(request)
        }
        var request = request
        request.body = body.reportingUpload(handler)
        return try await base.send(request)
    }
}
