/// How often, and how long apart, a request is sent again that came to nothing.
///
/// Only requests that change nothing, or are marked idempotent, are sent again. RFC 9110 §9.2.2 A
/// request that was not sent at all, because too many others were under way
/// (``HoldfastError/Code/overloaded``), is tried again whatever it is.
public struct RetryPolicy: Sendable, Hashable {
    /// Times that a request is sent again at most.
    public var limit: Int
    /// The wait before the first time; it doubles each time.
    public var delay: Duration
    /// The longest wait, `Retry-After` included: where the origin asks for more, the answer stands.
    public var maximumDelay: Duration
    /// Statuses that are worth another try.
    public var statuses: Set<Int>

    /// - Parameters:
    ///   - limit: 2 unless told otherwise.
    ///   - delay: 200 milliseconds.
    ///   - maximumDelay: 10 seconds.
    ///   - statuses: 408, 425, 429, 500, 502, 503 and 504.
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

    /// Sent once.
    public static let never = RetryPolicy(limit: 0)
}
