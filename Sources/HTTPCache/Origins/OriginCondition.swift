package import HTTPCacheSemantics

/// The condition of an origin, as the engine knows it.
package struct OriginCondition: Sendable, Hashable {
    /// Whether requests reach the origin.
    package enum Reachability: String, Sendable, Hashable, Codable, CaseIterable {
        /// Requests are sent to the origin.
        case reachable
        /// The origin failed so often that the cache sends it a different request to confirm the
        /// failure.
        case confirming
        /// Stored responses are served for the origin, and probes check whether it is reachable
        /// again.
        case unreachable
        /// As ``unreachable``, but no outage: clients chose the origin's name, which does not
        /// resolve, and the origin has not responded since the start. A client may have mistyped
        /// it.
        case unresolved
    }

    /// A failed request.
    package struct Failure: Sendable, Hashable {
        /// Why the request failed.
        package var cause: FailureCause
        /// When it failed.
        package var at: Timestamp

        /// Creates a failure.
        package init(cause: FailureCause, at: Timestamp) { (self.cause, self.at) = (cause, at) }
    }

    /// A server of an origin.
    package struct Server: Sendable, Hashable {
        /// The server's address or URL, as configured.
        package var name: String
        /// Whether the server failed, so that other servers are tried first.
        package var isAside: Bool
        /// The number of responses from the server, except 502, 503 and 504.
        package var responses: Int
        /// The number of failed requests to the server.
        package var failures: Int
        /// Why the last request to the server failed; `nil` if it succeeded.
        package var cause: FailureCause?
        /// Whether an operator drained the server, so that it gets no new requests.
        package var isDrained: Bool

        /// Creates a server.
        package init(
            name: String,
            isAside: Bool,
            responses: Int,
            failures: Int,
            cause: FailureCause? = nil,
            isDrained: Bool = false
        ) {
            self.isDrained = isDrained
            self.name = name
            self.isAside = isAside
            self.responses = responses
            self.failures = failures
            self.cause = cause
        }
    }

    /// The origin, such as `https://a.example`.
    package var origin: String
    /// Whether requests reach the origin.
    package var reachability: Reachability
    /// When the origin became unreachable or unresolved.
    package var since: Timestamp?
    /// Why the last request to the origin failed; `nil` if it succeeded. A reachable origin may
    /// have a cause, because the request's target may be at fault.
    package var cause: FailureCause?
    /// The last failure of a request, even if later requests succeeded; `nil` if none is known.
    package var lastFailure: Failure?
    /// The approximate time of the next probe; `nil` unless the origin is unreachable or
    /// unresolved.
    package var nextProbe: Timestamp?
    /// The number of failed probes since the origin became unreachable.
    package var failedProbes: Int
    /// The number of requests in flight.
    package var inFlight: Int
    /// The number of requests waiting for a permit.
    package var waiting: Int
    /// The servers in the order in which they are tried, if the configuration specifies more than
    /// the origin's URL.
    package var servers: [Server] = []
    /// Whether an operator drained every server, so that no request is sent.
    package var isDrained: Bool { !servers.isEmpty && servers.allSatisfy(\.isDrained) }

    /// Creates the condition of a reachable origin without requests.
    package init(origin: String) {
        self.origin = origin
        reachability = .reachable
        failedProbes = 0
        inFlight = 0
        waiting = 0
    }
}
