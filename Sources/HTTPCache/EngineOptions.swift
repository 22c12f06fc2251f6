/// How an engine treats origins that are slow, busy or away, and data that looks wrong. The
/// defaults suit most services.
public struct EngineOptions: Sendable {
    /// How long a caller waits for an origin while a stored response could answer, stale; then that
    /// one does, and the fetch goes on in the background. `nil` waits (the default): this is the
    /// operator's permission to use stale responses. RFC 9111 §4.2.4
    public var softTimeout: Duration?
    /// How long an origin may take to send a response's head; then the request fails as one that
    /// timed out. `nil` leaves it to the transport.
    ///
    /// The time begins when the request's content has been sent, however long that took. A request
    /// that waits for a place among those under way waits no longer than this either; then it is
    /// refused with 503.
    public var hardTimeout: Duration? = .seconds(60)
    /// The share of its freshness lifetime after which a stored response that is asked for is
    /// validated in the background, from 0 to 1. `nil`: not before it is stale. Responses that say
    /// `immutable` are left alone. RFC 8246
    public var eagerRefresh: Double?
    /// After an origin failed to renew a stored response, that response answers for this long
    /// before the origin is asked again.
    public var failureThrottle: Duration = .seconds(1)
    /// When an origin counts as away, and how its return is looked for.
    public var breaker = BreakerOptions()
    /// Requests under way to one origin at a time, bodies that are being stored included. More
    /// wait.
    ///
    /// A gateway shares them out: the last quarter is for clients that hold less than a quarter.
    public var inFlightLimit = 256
    /// Requests that wait for one origin. One more is refused with 503.
    public var waitingLimit = 4096
    /// Keeps good stored data from being replaced by what looks wrong. `nil`: the origin is
    /// believed.
    public var goodDataGuard: GoodDataGuard?
    /// Whether `Cache-Groups` and `Cache-Group-Invalidation` are obeyed. RFC 9875
    public var usesCacheGroups = true
    /// Whether `No-Vary-Search` is obeyed (an Internet-Draft, so off).
    public var usesNoVarySearch = false

    /// The defaults.
    public init() {}
}

/// When an origin counts as away, and how often its return is looked for.
public struct BreakerOptions: Sendable, Hashable {
    /// So many failures in a row where the origin took a connection, and it is asked for something
    /// else at once: it counts as unreachable where that fails twice. Where it was silent to so
    /// many different targets, it does so without being asked. A request that fails so often by
    /// itself is refused by itself for some seconds.
    ///
    /// An origin that cannot be connected to at all (refused, no route, no name, no TLS) counts as
    /// unreachable after the first failure, or after 16 where connections came about and failed in
    /// turn.
    public var failureThreshold = 3
    /// The first probe comes after this long (half of it to all of it: jittered), each further one
    /// after twice as long.
    public var initialBackOff: Duration = .milliseconds(500)
    /// The longest time between two probes.
    public var maximumBackOff: Duration = .seconds(30)
    /// The defaults.
    public init() {}
}
