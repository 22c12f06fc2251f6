import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

/// How to treat a request that failed or was rejected.
enum RetryDecision: Sendable, Hashable {
    /// The result is final: it is good, another try would not improve it, or the limit is reached.
    case keep
    /// Send the request again after this time.
    case retry(after: Duration)
}

extension RetryPolicy {
    /// Decides about a request that has a response.
    ///
    /// - Parameters:
    ///   - retries: how often it was sent again before.
    ///   - jitter: from 0 to 1.
    ///   - now: when the response came.
    func decision(
        after head: HTTPResponse,
        retries: Int,
        jitter: Double,
        now: Timestamp
    ) -> RetryDecision {
        guard retries < limit, statuses.contains(head.status.code) else { return .keep }
        let backOff = backOff(retries, jitter: jitter)
        guard let asked = head.headerFields.retryAfter(now: now) else { return .retry(after: backOff) }
        // The origin knows better when it will be available. If that is too late, the client does
        // not wait.
        return asked <= maximumDelay ? .retry(after: max(asked, backOff)) : .keep
    }

    /// Decides about a request without a response, or whose response broke off.
    ///
    /// - Parameter isIdempotent: whether it may be sent twice. A request that was not sent at all
    ///   is tried again in any case.
    func decision(after error: any Error, isIdempotent: Bool = true, retries: Int, jitter: Double) -> RetryDecision {
        guard retries < limit, error.isOverload || (isIdempotent && error.isTransient) else { return .keep }
        return .retry(after: backOff(retries, jitter: jitter))
    }

    /// From half of the delay to all of it. The delay doubles each time, up to the maximum.
    func backOff(_ retries: Int, jitter: Double) -> Duration {
        var whole = min(delay, maximumDelay)
        for _ in 0..<max(0, retries) where whole < maximumDelay { whole = min(whole * 2, maximumDelay) }
        return whole / 2 + whole / 2 * min(max(jitter, 0), 1)
    }
}

extension Error {
    fileprivate var isTransient: Bool {
        if case .truncated? = self as? BodyStreamError { return true }
        return (self as? TransportError)?.code.isTransient ?? false
    }

    fileprivate var isOverload: Bool { (self as? TransportError)?.code.isOverload ?? false }
}

extension TransportError.Code {
    /// Whether another try may succeed. An invalid certificate, or a response that is not HTTP,
    /// will be the same in a second.
    fileprivate var isTransient: Bool {
        [.nameResolution, .connect, .connectTimeout, .timeout, .connectionClosed].contains(self)
    }

    /// Whether nothing was sent because this process had no connection for it.
    fileprivate var isOverload: Bool { self == .overloaded || self == .outOfDescriptors }
}

extension HTTPFields {
    /// How long the origin asks to wait; `nil` if the field is missing or malformed.
    fileprivate func retryAfter(now: Timestamp) -> Duration? {
        self[values: .retryAfter].first.flatMap { RetryAfter.wait($0, at: now) }
    }
}
