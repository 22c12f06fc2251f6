import GatewayRouting
import HTTPCacheSemantics
import NIOCore

/// The hosts that clients chose by a pattern of `forward-proxy.hosts`. Without a limit, a client
/// could make connections and breakers for any number of names.
struct ChosenHosts {
    /// The maximum number of hosts.
    static let limit = 1000
    /// A host counts until it was not requested for this time: 5 min
    static let time = TimeAmount.minutes(5)

    /// When each host was last requested.
    private var last: [String: NIODeadline] = [:]

    /// Returns whether a host may be requested, and counts it.
    mutating func admit(_ host: String, at now: NIODeadline) -> Bool {
        if last[host] == nil, last.count >= Self.limit {
            last = last.filter { now - $0.value < Self.time }
            guard last.count < Self.limit else { return false }
        }
        last[host] = now
        return true
    }
}

extension Problem {
    static let tooManyHosts = Problem(
        .tooManyHosts,
        title: "Too many hosts",
        status: 503,
        detail:
            "Clients of this proxy requested \(ChosenHosts.limit) hosts in the last minutes that only a pattern of 'forward-proxy.hosts' allows. List the host itself there, or try again later.",
        retryAfter: 60
    )

    /// The problem of a request that the forward proxy refuses.
    static func notForwarded(_ refusal: ForwardProxy.Refusal) -> Problem {
        switch refusal {
        case .noHost:
            Problem(
                .noRoute,
                title: "The path names no origin",
                status: 404,
                detail:
                    "The path is below 'forward-proxy.prefix', so it must name the scheme and the host of an origin, such as '/proxy/https/deb.debian.org/debian'. Nothing was forwarded.",
                outcome: CacheOutcome(detail: CacheOutcome.Detail("no-route"))
            )
        // As for a host that no route has, the detail leaves the host out, because any text may be
        // one.
        case .host:
            Problem(
                .forbiddenHost,
                title: "The host is not allowed",
                status: 403,
                detail:
                    "This proxy leads only to the hosts in 'forward-proxy.hosts', and the host of the request is not one of them. Nothing was forwarded."
            )
        case .port(let port, let host):
            Problem(
                .forbiddenPort,
                title: "The port is not allowed",
                status: 403,
                detail:
                    "This proxy leads only to the ports 80, 443 and those in 'forward-proxy.ports', and not to port \(port) of '\(host)'. Nothing was forwarded."
            )
        }
    }
}
