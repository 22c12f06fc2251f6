package import HTTPCache

/// A gateway's origins, as returned by the control plane. Times are RFC 3339 text.
package struct OriginsReport: Sendable, Hashable, Codable {
    /// One origin.
    package struct Origin: Sendable, Hashable, Codable {
        /// The origin, such as `https://a.example`.
        package var origin: String
        /// The origin's state: `reachable`, `confirming`, `unreachable` or `unresolved`.
        package var state: OriginCondition.Reachability
        /// The time since which the origin has been unreachable.
        package var since: String?
        /// Why no request is sent (`drained`), or why the last one failed, such as
        /// `unknown-authority`; otherwise `nil`. A `reachable` origin may have a reason, because
        /// one target may be at fault.
        package var reason: String?
        /// The failure and the next step.
        package var message: String?
        /// The last failure, even if later requests succeeded; `nil` if none is known.
        package var lastFailure: Failure?
        /// The approximate time of the next probe. Probes are sent only in `automatic` mode.
        package var nextProbe: String?
        /// The number of failed probes since the origin became unreachable.
        package var failedProbes: Int
        /// The number of requests in flight.
        package var inFlight: Int
        /// The number of requests that are waiting for a permit.
        package var waiting: Int
        /// The origin's servers, in the order in which they are tried; `nil` if the configuration
        /// contains only the origin's URL.
        package var servers: [Server]?
    }

    /// A failed request to an origin.
    package struct Failure: Sendable, Hashable, Codable {
        /// Why the request failed, such as `reset`.
        package var reason: String
        /// The failure and the next step.
        package var message: String
        /// When the request failed.
        package var at: String

        init(_ failure: OriginCondition.Failure) {
            reason = failure.cause.reason
            message = failure.cause.message
            at = EndTime.text(failure.at)
        }
    }

    /// A server with an origin's content: one of the origin's addresses, or a mirror.
    package struct Server: Sendable, Hashable, Codable {
        /// The address or URL of the server, as configured.
        package var server: String
        /// Whether the server failed, so that other servers are tried first.
        package var aside: Bool
        /// The number of the server's responses, not counting 502, 503 and 504.
        package var responses: Int
        /// The number of requests to the server that failed.
        package var failures: Int
        /// Why the last request failed; `nil` if it succeeded.
        package var reason: String?
        /// The failure and the next step.
        package var message: String?
        /// The drain of the server, which gets no new requests; `nil` if it is not drained.
        package var drained: SwitchReport?
    }

    /// The origins: first those that are `confirming` or `unreachable`, then those that are
    /// `unresolved`, then the others. Each group is in alphabetical order.
    package var origins: [Origin]
    /// Whether there are more than ``limit`` origins.
    package var more: Bool

    /// The maximum number of origins in a report.
    static let limit = 1000

    init(_ conditions: [OriginCondition], _ mode: OfflineMode, drains: [SwitchReport]?) {
        // Clients choose how many names do not resolve, so these must not displace an outage.
        let groups: [Set<OriginCondition.Reachability>] = [[.confirming, .unreachable], [.unresolved], [.reachable]]
        let sorted = groups.flatMap { group in conditions.filter { group.contains($0.reachability) } }
        origins = sorted.prefix(Self.limit).map { condition in
            let cause = Self.cause(of: condition, drains ?? [])
            return Origin(
                origin: condition.origin,
                state: condition.reachability,
                since: condition.since.map(EndTime.text),
                reason: cause?.reason,
                message: cause?.message,
                lastFailure: condition.lastFailure.map(Failure.init),
                nextProbe: mode == .automatic ? condition.nextProbe.map(EndTime.text) : nil,
                failedProbes: condition.failedProbes,
                inFlight: condition.inFlight,
                waiting: condition.waiting,
                servers: condition.servers.isEmpty ? nil : Self.servers(of: condition, drains ?? [])
            )
        }
        more = conditions.count > Self.limit
    }

    /// Returns why no request is sent to an origin, or why the last one failed.
    private static func cause(of condition: OriginCondition, _ drains: [SwitchReport]) -> FailureCause? {
        let drained = condition.servers.filter(\.isDrained)
        if condition.isDrained {
            let ends = drains.filter { $0.server != nil && $0.origin == condition.origin }.map(\.until)
            let end = ends.min().map { ", the first until \($0)" } ?? ""
            return FailureCause(
                reason: "drained",
                message: "An operator drained every server\(end), so no request is sent. "
                    + "'holdfast drain SERVER --of-origin \(condition.origin) --end' ends a drain."
            )
        }
        guard var cause = condition.cause else { return nil }
        if !drained.isEmpty {
            cause.message +=
                " \(drained.count) of \(condition.servers.count) servers are drained: see 'holdfast drain'."
        }
        return cause
    }

    private static func servers(of condition: OriginCondition, _ drains: [SwitchReport]) -> [Server] {
        condition.servers.map { server in
            Server(server, drains.first { $0.server == server.name && $0.origin == condition.origin })
        }
    }
}

extension OriginsReport.Server {
    fileprivate init(_ server: OriginCondition.Server, _ drain: SwitchReport?) {
        self.init(
            server: server.name,
            aside: server.isAside,
            responses: server.responses,
            failures: server.failures,
            reason: server.cause?.reason,
            message: server.cause?.message,
            drained: server.isDrained ? drain : nil
        )
    }
}
