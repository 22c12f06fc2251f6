import HTTPCache
import HTTPTypes

/// Tells the plugins of a call what goes out and what comes back.
struct ObservingTransport: Transport {
    let base: any Transport

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard let context = request.context as? CallContext, !context.observers.isEmpty else {
            return try await base.send(request)
        }
        let sent = SentRequest(head: request.head, body: context.body)
        for observer in context.observers { observer.willSend(sent, for: context.info) }
        let start = ContinuousClock.now
        let result: Result<TransportResponse, any Error>
        do { result = .success(try await base.send(request)) } catch { result = .failure(error) }
        let duration = ContinuousClock.now - start
        for observer in context.observers {
            observer.didReceive(result.map(\.head), to: sent, for: context.info, after: duration)
        }
        return try result.get()
    }
}
