/// How an engine handles origins that are slow, busy or unreachable, and data that looks wrong. The
/// defaults suit most services.
public struct EngineOptions: Sendable {
    /// How long a caller waits for an origin if a stale stored response could be served. After that
    /// time the stale response is served, and the fetch continues in the background.
    ///
    /// `nil` (the default) waits: this option is the operator's permission to use stale responses.
    /// RFC 9111 §4.2.4
    public var softTimeout: Duration?
    /// How long an origin may take to send a response's head. After that time the request times
    /// out. `nil` leaves the limit to the transport.
    ///
    /// The time starts when the request's content has been sent, however long that took; without
    /// content, it starts with the request and includes connecting. A request also waits at most
    /// this long for a permit; then it is rejected with 503.
    public var hardTimeout: Duration? = .seconds(60)
    /// The share of its freshness lifetime, from 0 to 1, after which a requested stored response is
    /// validated in the background. `nil`: only when it is stale.
    ///
    /// Responses with `immutable` are not validated early. RFC 8246
    public var eagerRefresh: Double?
    /// If an origin failed to validate a stored response, that response is served for this long
    /// before the origin is tried again.
    public var failureThrottle: Duration = .seconds(1)
    /// When an origin is treated as unreachable, and how it is probed.
    public var breaker = BreakerOptions()
    /// The most concurrent requests to one origin, including those whose bodies are being stored.
    /// Further requests wait.
    ///
    /// A gateway's clients share the permits: the last quarter is reserved for clients that hold
    /// less than a quarter.
    public var inFlightLimit = 256
    /// The most requests that wait for one origin. Further ones are rejected with 503.
    public var waitingLimit = 4096
    /// The most bytes of stored content in memory for responses that a gateway is sending: 64 KiB
    /// per response, however little its client reads. Further responses wait.
    ///
    /// The last quarter is reserved for clients that have less than a quarter. Content in the
    /// store's memory does not count, because all responses share it.
    public var responseMemory = 128 << 20
    /// Prevents data that looks wrong from replacing good stored data. `nil`: every response from
    /// the origin is accepted as correct.
    public var goodDataGuard: GoodDataGuard?
    /// Whether `Cache-Groups` and `Cache-Group-Invalidation` are honored. RFC 9875
    public var usesCacheGroups = true
    /// Whether `No-Vary-Search` is honored (an Internet-Draft, so off by default).
    public var usesNoVarySearch = false

    /// Creates the default options.
    public init() {}
}

/// When an origin is treated as unreachable, and how often it is probed.
public struct BreakerOptions: Sendable, Hashable {
    /// The number of consecutive failures, on connections that the origin accepted, that raises
    /// doubt.
    ///
    /// After this many failures, the origin immediately gets a different request. If that fails
    /// twice, the origin is treated as unreachable. If the origin did not respond to this many
    /// different targets, it is treated as unreachable without another request. If only one request
    /// keeps failing, only that request is rejected for a few seconds.
    ///
    /// An origin that no connection reaches at all (refused, no route, no name, no TLS) is treated
    /// as unreachable after the first failure. If connections alternately succeed and fail, it
    /// takes 16 failures.
    public var failureThreshold = 3
    /// The time before the first probe (a random value between half and all of it). Each further
    /// probe waits twice as long as the previous one.
    public var initialBackOff: Duration = .milliseconds(500)
    /// The longest time between two probes.
    public var maximumBackOff: Duration = .seconds(30)
    /// Creates the default options.
    public init() {}
}
