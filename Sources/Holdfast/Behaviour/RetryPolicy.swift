/// How often, and after which delays, a failed request is sent again.
///
/// Only requests that change nothing, or are marked idempotent, are sent again (RFC 9110 §9.2.2). A
/// request that was not sent at all, because too many others were under way
/// (``HoldfastError/Code/overloaded``), is tried again in any case.
///
/// A response whose content breaks off is a failure too. A value is made of the whole content, so
/// its caller sees nothing of the first response, except that reported progress starts over. A
/// download resumes from its part. ``CachingClient/respond(to:)`` delivers content as it arrives
/// and retries nothing: the stream throws, and its caller knows what it has used.
///
/// The limit counts all retries of a call. The transport's own repetition, after a kept connection
/// closed before any byte of a response, is not counted: see `HTTPClientTransport`.
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
