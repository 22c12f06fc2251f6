import HTTPCache
import HTTPTypes

/// Notifies a call's observing plugins of each request and response.
struct ObservingTransport: Transport {
    let base: any Transport
    /// The clock that measures durations.
    let clock: any Clock<Duration>

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard let context = request.context as? CallContext, !context.observers.isEmpty else {
            return try await base.send(request)
        }
        let (observers, info) = (context.observers, context.info)
        let sent = SentRequest(head: request.head, body: context.body)
        for observer in observers { observer.willSend(sent, for: info) }
        let elapsed = clock.stopwatch()
        var response: TransportResponse
        do {
            response = try await base.send(request)
        } catch {
            let duration = elapsed()
            for observer in observers { observer.didReceive(.failure(error), to: sent, for: info, after: duration) }
            throw error
        }
        let (head, duration) = (response.head, elapsed())
        for observer in observers { observer.didReceive(.success(head), to: sent, for: info, after: duration) }
        let limit = observers.reduce(0) { max($0, $1.contentLimit) }
        let watch = ContentWatch(limit: limit, elapsed: elapsed) { content in
            for observer in observers {
                observer.didEnd(content.cut(to: observer.contentLimit), of: head, to: sent, for: info)
            }
        }
        response.body = watch.watch(response.body)
        return response
    }
}

extension ReceivedContent {
    /// Truncates the content to the length that an observer requested.
    fileprivate func cut(to limit: Int) -> ReceivedContent {
        guard beginning.count > limit else { return self }
        var content = self
        content.beginning = Array(beginning.prefix(max(0, limit)))
        return content
    }
}

extension Clock where Duration == Swift.Duration {
    /// Returns a function that measures the time from this call on.
    func stopwatch() -> @Sendable () -> Swift.Duration {
        let start = now
        return { start.duration(to: now) }
    }
}
