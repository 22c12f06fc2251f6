/// How often, and after which delays, a failed request is sent again.
///
/// Only requests that change nothing, or are marked idempotent, are sent again (RFC 9110 §9.2.2). A
/// request that was not sent at all, because too many others were under way
/// (``HoldfastError/Code/overloaded``), is tried again in any case.
public struct RetryPolicy: Sendable, Hashable {
    /// How often a request is sent again at most.
    public var limit: Int
    /// The delay before the first retry; it doubles each time.
    public var delay: Duration
    /// The longest delay, `Retry-After` included. If the origin asks for more, its response is
    /// final.
    public var maximumDelay: Duration
    /// Statuses after which a request is sent again.
    public var statuses: Set<Int>

    /// Creates a policy.
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

    /// Sends each request once.
    public static let never = RetryPolicy(limit: 0)
}
