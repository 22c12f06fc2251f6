import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Logging

/// Sends a request again that came to nothing, where its call allows it. The engine behind it sees
/// one exchange: its timeout, its caller's and a cancellation end the waiting at once.
struct RetryingTransport: Transport {
    let base: any Transport
    let clock: any WallClock
    let sleeper: any Clock<Duration>
    /// A number from 0 to 1 for each wait, so that clients that were refused together do not come
    /// back together.
    var jitter: @Sendable () -> Double = { Double.random(in: 0...1) }
    let logger: Logger

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        guard let context = request.context as? CallContext, context.retry.limit > 0 else {
            return try await base.send(request)
        }
        let (policy, isIdempotent) = (context.retry, context.isIdempotent)
        var retries = 0
        while true {
            let delay: Duration
            var refused: BodyStream?
            do {
                let response = try await base.send(request)
                guard isIdempotent else { return response }
                switch policy.decision(after: response.head, retries: retries, jitter: jitter(), now: clock.now()) {
                case .stands: return response
                case .again(let after): (delay, refused) = (after, response.body)
                }
            } catch {
                try Task.checkCancellation()
                switch policy.decision(after: error, isIdempotent: isIdempotent, retries: retries, jitter: jitter()) {
                case .stands: throw error
                case .again(let after): delay = after
                }
            }
            retries += 1
            logger.debug(
                "Request is sent again",
                metadata: ["http.method": "\(request.head.method)", "retry.number": "\(retries)"]
            )
            try await pause(delay, givingUp: refused)
        }
    }

    /// Waits. What is left of the refused answer is read meanwhile, where it is short, so that its
    /// connection can be used again; else the connection is closed.
    private func pause(_ delay: Duration, givingUp refused: BodyStream?) async throws {
        guard let refused else { return try await sleeper.sleep(for: delay) }
        // What is not read by then is let go of at the end of this scope, which cancels the
        // reading.
        async let _: Void = Self.readShort(refused)
        try await sleeper.sleep(for: delay)
    }

    private static let shortLimit = 64 << 10

    @concurrent
    private static func readShort(_ body: BodyStream) async {
        _ = try? await body.collect(upTo: shortLimit)
    }
}
