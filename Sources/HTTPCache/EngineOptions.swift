/// How an engine treats origins that are slow, busy or unreachable, and data that looks wrong. The
/// defaults suit most services.
public struct EngineOptions: Sendable {
    /// How long a caller waits for an origin if a stale stored response could answer. After that
    /// time the stale response is served, and the fetch continues in the background.
    ///
    /// `nil` (the default) waits: this option is the operator's permission to use stale responses.
    /// RFC 9111 §4.2.4
    public var softTimeout: Duration?
    /// How long an origin may take to send a response's head. After that time the request fails
    /// with a timeout. `nil` leaves the limit to the transport.
    ///
    /// The time begins when the request's content has been sent, however long that took; without
    /// content, it begins with the request and includes connecting. A request that waits for a
    /// permit waits no longer than this either; then it is rejected with 503.
    public var hardTimeout: Duration? = .seconds(60)
    /// The share of its freshness lifetime, from 0 to 1, after which a requested stored response is
    /// validated in the background. `nil`: not before it is stale.
    ///
    /// Responses with `immutable` are not validated early. RFC 8246
    public var eagerRefresh: Double?
    /// After an origin failed to renew a stored response, that response is served for this long
    /// before the origin is asked again.
    public var failureThrottle: Duration = .seconds(1)
    /// When an origin is treated as unreachable, and how it is probed.
    public var breaker = BreakerOptions()
    /// Requests under way to one origin at a time, including those whose bodies are being stored.
    /// More requests wait.
    ///
    /// A gateway shares the permits out: the last quarter is for clients that hold less than a
    /// quarter.
    public var inFlightLimit = 256
    /// Requests that wait for one origin. One more is rejected with 503.
    public var waitingLimit = 4096
    /// Bytes of stored content in memory at a time for the responses that a gateway is sending: 64
    /// KiB for each of them, however little its client reads. Further responses wait for their
    /// turn.
    ///
    /// The last quarter is for clients that have less than a quarter. Content in the store's memory
    /// does not count, because all responses share it.
    public var responseMemory = 128 << 20
    /// Keeps good stored data from being replaced by data that looks wrong. `nil`: every response
    /// of the origin is believed.
    public var goodDataGuard: GoodDataGuard?
    /// Whether `Cache-Groups` and `Cache-Group-Invalidation` are obeyed. RFC 9875
    public var usesCacheGroups = true
    /// Whether `No-Vary-Search` is obeyed (an Internet-Draft, so off).
    public var usesNoVarySearch = false

    /// The defaults.
    public init() {}
}

/// When an origin is treated as unreachable, and how often it is probed.
public struct BreakerOptions: Sendable, Hashable {
    /// The number of failures in a row, on connections that the origin accepted, that raises doubt.
    ///
    /// After so many failures the origin is asked for something else at once. If that fails twice,
    /// the origin is treated as unreachable. If the origin was silent to so many different targets,
    /// it is treated as unreachable without a further question. A single request that fails so
    /// often is rejected for some seconds, and no other.
    ///
    /// An origin that no connection reaches at all (refused, no route, no name, no TLS) is treated
    /// as unreachable after the first failure. If connections succeed and fail in turn, that takes
    /// 16 failures.
    public var failureThreshold = 3
    /// The time before the first probe (a random half to all of it). Each further probe waits twice
    /// as long as the one before.
    public var initialBackOff: Duration = .milliseconds(500)
    /// The longest time between two probes.
    public var maximumBackOff: Duration = .seconds(30)
    /// The defaults.
    public init() {}
}
