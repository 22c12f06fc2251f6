/// How often, and after which delays, a failed request is retried.
///
/// Requests that change nothing, or that are marked idempotent, are retried (RFC 9110 §9.2.2). Any
/// request is retried if it was not sent because too many other requests were in flight
/// (`HoldfastError.Code.overloaded`).
///
/// A response whose content breaks off is a failure, too. Decoding needs the complete content, so
/// the caller has received nothing yet, although reported progress starts over. A download resumes
/// from its part. ``CachingClient/respond(to:)`` delivers content as it arrives and never retries:
/// the stream throws, because only its reader knows how much content it has used.
///
/// The limit counts all retries of a call's request. Attempts to get one of the client's permits
/// are counted separately, up to the same limit. The limit does not count a transport's own retry
/// after a pooled connection closed before the first byte of a response: see `HTTPClientTransport`.
public struct RetryPlan: Sendable, Hashable {
    /// The maximum number of retries.
    public var limit: Int
    /// The delay before the first retry. It doubles with each retry.
    public var delay: Duration
    /// The maximum delay, including `Retry-After`. If the origin asks for a longer delay, its
    /// response is final.
    public var maximumDelay: Duration
    /// The statuses after which a request is retried.
    public var statuses: Set<Int>

    /// Creates a plan.
    ///
    /// - Parameters:
    ///   - limit: 2 by default.
    ///   - delay: 200 milliseconds by default.
    ///   - maximumDelay: 10 seconds by default.
    ///   - statuses: 408, 425, 429, 500, 502, 503 and 504 by default.
    public init(
        limit: Int = 2,
        delay: Duration = .milliseconds(200),
        maximumDelay: Duration = .seconds(10),
        statuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504]
    ) {
        self.limit = limit
        self.delay = delay
        self.maximumDelay = maximumDelay
        self.statuses = statuses
    }

    /// Never retries.
    public static let never = RetryPlan(limit: 0)
}
