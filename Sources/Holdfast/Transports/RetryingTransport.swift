import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Logging

/// Retries a failed request, if its call allows it. The engine sees a single exchange: its timeout,
/// the caller's timeout, and cancellation all end a wait immediately.
///
/// Content is passed on as it arrives. If content breaks off, its reader retries the request:
/// ``CachingClient/retry(_:_:_:afterBreakOf:_:)``, ``Download``.
struct RetryingTransport: Transport {
    let base: any Transport
    let clock: any WallClock
    let sleeper: any Clock<Duration>
    /// Returns a number from 0 to 1 for each delay, so that clients that were rejected together do
    /// not retry together.
    var jitter: @Sendable () -> Double = { Double.random(in: 0...1) }
    let logger: Logger

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard let context = request.context as? CallContext, let retries = context.retries else {
            return try await base.send(request)
        }
        let (policy, isIdempotent) = (context.retry, context.isIdempotent)
        while true {
            let delay: Duration
            var rejected: BodyStream?
            do {
                let response = try await base.send(request)
                guard isIdempotent else { return response }
                switch policy.decision(
                    after: response.head,
                    retries: retries.value,
                    jitter: jitter(),
                    now: clock.now()
                ) {
                case .keep: return response
                case .retry(let after): (delay, rejected) = (after, response.body)
                }
            } catch {
                try Task.checkCancellation()
                switch policy.decision(
                    after: error,
                    isIdempotent: isIdempotent,
                    retries: retries.value,
                    jitter: jitter()
                ) {
                case .keep: throw error
                case .retry(let after): delay = after
                }
            }
            retries.increment()
            logger.debug(
                "Resending a request",
                metadata: ["http.method": "\(request.head.method)", "retry.number": "\(retries.value)"]
            )
            try await pause(delay, givingUp: rejected)
        }
    }

    /// Waits for a delay. Meanwhile, reads the rest of a rejected response if it is short, so that
    /// its connection can be reused. Otherwise, closes the connection.
    private func pause(_ delay: Duration, givingUp rejected: BodyStream?) async throws {
        guard let rejected else { return try await sleeper.sleep(for: delay) }
        // Unread content is released at the end of this scope, which cancels the read.
        async let _: Void = Self.readShort(rejected)
        try await sleeper.sleep(for: delay)
    }

    private static let shortLimit = 64 << 10

    @concurrent
    private static func readShort(_ body: BodyStream) async {
        _ = try? await body.collect(upTo: shortLimit)
    }
}
