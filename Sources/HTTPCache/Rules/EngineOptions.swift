/// How an engine handles origins that are slow, busy or unreachable, and data that looks wrong. The
/// defaults suit most services.
public struct EngineOptions: Sendable {
    /// How long a caller waits for an origin if a stale stored response could be served. After that
    /// time the stale response is served, and the fetch continues in the background.
    ///
    /// `nil`, the default, sets no limit: stale responses are used for slow origins only if the
    /// operator allows it by setting this option. RFC 9111 §4.2.4
    public var softTimeout: Duration?
    /// How long an origin may take to send a response's head. After that time the request times
    /// out. `nil` leaves the limit to the transport.
    ///
    /// The time starts when the request's content has been sent, however long that took; without
    /// content, it starts with the request and includes connecting. A request also waits at most
    /// this long for a permit; then it is rejected with 503.
    public var hardTimeout: Duration? = .seconds(60)
    /// The share of its freshness lifetime, from 0 to 1, after which a requested stored response is
    /// validated in the background. `nil` validates it only when it is stale.
    ///
    /// Responses with `immutable` are not validated early. RFC 8246
    public var eagerRefresh: Double?
    /// If an origin failed to validate a stored response, that response is served for this long
    /// before the origin is tried again.
    public var failureThrottle: Duration = .seconds(1)
    /// When an origin is treated as unreachable, and how it is probed.
    public var breaker = BreakerOptions()
    /// The maximum number of concurrent requests to one origin, including requests whose response
    /// bodies are being stored. Additional requests wait.
    ///
    /// A gateway's clients share the permits: the last quarter is reserved for clients that hold
    /// less than a quarter of them.
    public var inFlightLimit = 256
    /// The maximum number of requests that wait for one origin. Additional requests are rejected
    /// with 503.
    public var waitingLimit = 4096
    /// The maximum memory, in bytes, for stored content of responses that a gateway is sending.
    /// Each response takes 64 KiB, even if its client reads slowly. Additional responses wait.
    ///
    /// The last quarter is reserved for clients that have less than a quarter. Content in the
    /// store's memory does not count, because all responses share it.
    public var responseMemory = 128 << 20
    /// Prevents data that looks wrong from replacing good stored data. `nil` accepts every response
    /// from the origin as correct.
    public var goodDataGuard: GoodDataGuard?
    /// Whether `Cache-Groups` and `Cache-Group-Invalidation` are honored. RFC 9875
    public var usesCacheGroups = true

    /// Creates the default options.
    public init() {}
}

/// When an origin is treated as unreachable, and how often it is probed.
public struct BreakerOptions: Sendable, Hashable {
    /// The number of consecutive failures, on connections that the origin accepted, after which the
    /// engine suspects an outage.
    ///
    /// After this many failures, one of the following happens:
    /// - Usually, the engine immediately sends the origin a different request. If two such requests
    ///   fail, the origin is treated as unreachable.
    /// - If the origin did not respond for this many different targets (at least two), it is
    ///   treated as unreachable without such a request, unless connections recently succeeded and
    ///   failed alternately.
    /// - If the different request gets a response, only the request that keeps failing is rejected
    ///   for a few seconds.
    ///
    /// If no connection can be made (refused, no route, unknown host name, failed TLS handshake),
    /// the origin is treated as unreachable after the first failure. If connections alternately
    /// succeed and fail, it takes 4 failures in a row, and then 16.
    public var failureThreshold = 3
    /// The time before the first probe (a random value between half and all of it). The wait
    /// doubles with each further probe.
    public var initialBackOff: Duration = .milliseconds(500)
    /// The maximum time between two probes.
    public var maximumBackOff: Duration = .seconds(30)
    /// Creates the default options.
    public init() {}
}
