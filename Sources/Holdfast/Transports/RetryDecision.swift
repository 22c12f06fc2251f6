import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

/// Whether and when to retry a request that failed or was rejected.
enum RetryDecision: Sendable, Hashable {
    /// Do not retry: the result is a success, the policy or the origin does not allow a retry, or
    /// the limit is reached.
    case keep
    /// Retry after this delay.
    case retry(after: Duration)
}

extension RetryPlan {
    /// Decides whether to retry a request that received a response.
    ///
    /// - Parameters:
    ///   - retries: the number of earlier retries.
    ///   - jitter: from 0 to 1.
    ///   - now: the time when the response arrived.
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
        // not wait at all.
        return asked <= maximumDelay ? .retry(after: max(asked, backOff)) : .keep
    }

    /// Decides whether to retry a request that received no response, or whose response broke off.
    ///
    /// - Parameter isIdempotent: whether the request may be sent twice. A request that was not sent
    ///   because this process had no connection available is retried even if it is not idempotent.
    func decision(after error: any Error, isIdempotent: Bool = true, retries: Int, jitter: Double) -> RetryDecision {
        guard retries < limit, error.isOverload || (isIdempotent && error.isTransient) else { return .keep }
        return .retry(after: backOff(retries, jitter: jitter))
    }

    /// Returns 50% to 100% of the delay. The delay doubles with each retry, up to the maximum.
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
    /// Whether a retry may succeed. An invalid certificate, or a response that is not HTTP, will be
    /// the same a second later.
    fileprivate var isTransient: Bool {
        [.nameResolution, .connect, .connectTimeout, .timeout, .connectionClosed].contains(self)
    }

    /// Whether nothing was sent because this process had no connection available.
    fileprivate var isOverload: Bool { self == .overloaded || self == .outOfDescriptors }
}

extension HTTPFields {
    /// The delay that the origin asks for; `nil` if the field is missing or malformed.
    fileprivate func retryAfter(now: Timestamp) -> Duration? {
        self[values: .retryAfter].first.flatMap { RetryAfter.wait($0, at: now) }
    }
}
