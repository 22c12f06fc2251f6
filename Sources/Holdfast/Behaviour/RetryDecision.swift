import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

/// What becomes of a request that was sent and came to nothing, or to a refusal.
enum RetryDecision: Sendable, Hashable {
    /// What came stands: it is good, or no other try would make it better, or there were enough.
    case stands
    /// It is sent again after this long.
    case again(after: Duration)
}

extension RetryPolicy {
    /// What becomes of a request that was answered.
    ///
    /// - Parameters:
    ///   - retries: times that it was sent again before.
    ///   - jitter: from 0 to 1.
    ///   - now: when the answer came.
    func decision(
        after head: HTTPResponse,
        retries: Int,
        jitter: Double,
        now: Timestamp
    ) -> RetryDecision {
        guard retries < limit, statuses.contains(head.status.code) else { return .stands }
        let backOff = backOff(retries, jitter: jitter)
        guard let asked = head.headerFields.retryAfter(now: now) else { return .again(after: backOff) }
        // The origin knows better when it will be back. One that will not be soon is not waited
        // for.
        return asked <= maximumDelay ? .again(after: max(asked, backOff)) : .stands
    }

    /// What becomes of a request that was not answered, or whose answer broke off.
    ///
    /// - Parameter isIdempotent: it may be sent twice. One that was not sent at all is tried again
    ///   in any case.
    func decision(after error: any Error, isIdempotent: Bool = true, retries: Int, jitter: Double) -> RetryDecision {
        guard retries < limit, let code = (error as? TransportError)?.code,
            code.isOverload || (isIdempotent && code.isTransient)
        else { return .stands }
        return .again(after: backOff(retries, jitter: jitter))
    }

    /// Half of the delay to all of it; it doubles each time, up to the longest.
    func backOff(_ retries: Int, jitter: Double) -> Duration {
        var whole = min(delay, maximumDelay)
        for _ in 0..<max(0, retries) where whole < maximumDelay { whole = min(whole * 2, maximumDelay) }
        return whole / 2 + whole / 2 * min(max(jitter, 0), 1)
    }
}

extension TransportError.Code {
    /// Whether another try may come to more. A certificate that does not verify and an answer that
    /// is no HTTP will be the same in a second.
    fileprivate var isTransient: Bool {
        [.nameResolution, .connect, .connectTimeout, .timeout, .connectionClosed].contains(self)
    }

    /// Whether nothing was sent because this process had no connection for it.
    fileprivate var isOverload: Bool { self == .overloaded || self == .outOfDescriptors }
}

extension HTTPFields {
    /// How long the origin asks to wait, in seconds or until a date; `nil` where it does not say,
    /// or not in a form that it may have. RFC 9110 §10.2.3
    fileprivate func retryAfter(now: Timestamp) -> Duration? {
        guard let value = self[values: .retryAfter].first else { return nil }
        if !value.isEmpty, value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            // More digits than a number holds are a long time all the same.
            return .seconds(Swift.min(Int64(value) ?? .max, 1 << 31))
        }
        guard let instant = HTTPDate.parse(value, reference: now) else { return nil }
        return .milliseconds(Swift.max(0, instant.milliseconds(since: now)))
    }
}
