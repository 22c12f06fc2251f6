import GatewayRouting
import HTTPCache
import HTTPCacheSemantics
import HoldfastConfiguration
import Logging
import NIOCore
import Synchronization

/// An origin that has its own settings: its servers and their state.
final class OriginSite: Sendable {
    /// The settings that determine a site. A reload with equal settings keeps the site.
    struct Plan: Hashable {
        let settings: Configuration.Origin
        let mirrors: [GatewayOrigin]
        /// The settings of each mirror; `nil` for a mirror without settings.
        let ofMirrors: [Configuration.Origin?]
        /// The limits of origins without settings.
        let times: OriginTimes
        /// Whether the top-level `timeouts.connect` is set.
        let limitsConnecting: Bool
    }

    /// The outcomes of requests to a server, for metrics.
    struct Counts {
        var responses = 0
        /// The failures by reason.
        var failures: [FailureReason: Int] = [:]
        var goodChecks = 0
        var failedChecks = 0
    }

    private struct State {
        var health = ServerHealth()
        var counts = Counts()
    }

    let plan: Plan
    let name: String
    /// The `Host` for the origin's own servers.
    let authority: String
    /// The origin's own servers, then its mirrors; at least one.
    let servers: [OriginServer]
    let firstMirror: Int
    private let states: Mutex<[State]>

    /// - Parameter security: returns the TLS settings for an origin's URL; `nil` for the common
    ///   settings.
    init(_ plan: Plan, _ endpoint: OriginEndpoint, _ security: (_ url: String) -> OriginSecurity?) {
        self.plan = plan
        let settings = plan.settings
        name = settings.url
        let authority = String(settings.url.drop { $0 != ":" }.dropFirst(3))
        self.authority = authority
        var times = plan.times
        if settings.hasSeveralServers, !plan.limitsConnecting { times.connect = Self.shortConnect }
        times.take(settings.timeouts)
        let own = security(settings.url)
        let addresses: [OriginEndpoint.Address?] =
            settings.addresses.isEmpty ? [nil] : settings.addresses.map { OriginEndpoint.Address($0) }
        firstMirror = addresses.count
        servers =
            addresses.map { OriginServer(of: endpoint, named: settings.url, at: $0, settings, own, times) }
            + zip(plan.mirrors, plan.ofMirrors).map { mirror, settings in
                var times = times
                if let settings { times.take(settings.timeouts) }
                let fields = MirrorFields(
                    of: mirror,
                    for: endpoint.isSecure ? "https" : "http",
                    authority,
                    takesCredentials: settings?.takesCredentials ?? false
                )
                return OriginServer(mirror: mirror, fields: fields, settings, security(mirror.name), times)
            }
        states = Mutex(Array(repeating: State(), count: servers.count))
    }

    /// The time to open a connection if another server can be tried, unless configured.
    private static let shortConnect = TimeAmount.seconds(2)

    var hasSeveral: Bool { servers.count > 1 }

    /// Creates the failover decisions for a request.
    ///
    /// - Parameters:
    ///   - asked: called only after a recent failure.
    ///   - look: called for each server that the gateway now checks for recovery.
    func failover(
        of request: Failover.Request,
        _ asked: () -> AskedTarget,
        at now: NIODeadline,
        look: (_ server: Int) -> Void
    ) -> Failover {
        let now = Timestamp(now)
        let (candidates, due) = states.withLock { states in
            var candidates: [Failover.Server] = []
            for number in servers.indices {
                candidates.append(
                    Failover.Server(
                        availability: states[number].health.availability(for: asked, at: now),
                        isMirror: number >= firstMirror,
                        takesCredentials: servers[number].takesCredentials
                    )
                )
            }
            return (candidates, states.indices.filter { states[$0].health.beginLook(at: now) })
        }
        for server in due { look(server) }
        return Failover(candidates, request)
    }

    /// See ``ServerHealth/beginLastChance(at:)``.
    func beginLastChance(_ server: Int, at now: NIODeadline) -> Bool {
        states.withLock { $0[server].health.beginLastChance(at: Timestamp(now)) }
    }

    func endLastChance(_ server: Int) {
        states.withLock { $0[server].health.endLastChance() }
    }

    /// Records the outcome of a client's request to a server.
    ///
    /// - Parameter asked: called only after a recent failure.
    /// - Returns: whether the gateway must send the server a request of its own.
    func note(_ outcome: Failover.Outcome, of server: Int, _ asked: () -> AskedTarget, _ logger: Logger) -> Bool {
        let now = Timestamp(.now())
        guard let reason = FailureReason(outcome), let failure = FailureEvidence.Failure(outcome) else {
            guard case .response = outcome else { return false }
            let step = states.withLock { states in
                states[server].counts.responses += 1
                return states[server].health.succeed(asked, at: now)
            }
            return perform(step, of: server, nil, logger)
        }
        let step = states.withLock { states in
            states[server].counts.failures[reason, default: 0] += 1
            return states[server].health.fail(asked(), failure, isSlow: reason.isSlow(outcome), at: now)
        }
        return perform(step, of: server, reason.rawValue, logger)
    }

    /// Records the result of one of the gateway's own requests, which check whether a server is at
    /// fault or is back.
    ///
    /// - Returns: whether to send the server another request.
    func noteProbe(of server: Int, _ asked: AskedTarget, isGood: Bool, _ logger: Logger) -> Bool {
        let step = states.withLock { $0[server].health.probed(asked, isGood: isGood, at: Timestamp(.now())) }
        return perform(step, of: server, "probe", logger)
    }

    /// Records the result of a health check.
    ///
    /// - Returns: whether to repeat the check immediately.
    func noteCheck(of server: Int, isGood: Bool, _ logger: Logger) -> Bool {
        let step = states.withLock { states in
            if isGood { states[server].counts.goodChecks += 1 } else { states[server].counts.failedChecks += 1 }
            return states[server].health.check(isGood: isGood)
        }
        return perform(step, of: server, "check", logger)
    }

    private func perform(_ step: ServerHealth.Step, of server: Int, _ reason: String?, _ logger: Logger) -> Bool {
        switch step {
        case .none: break
        case .ask: return true
        case .setAside: log(isAside: true, server, reason, logger)
        case .takeBack: log(isAside: false, server, nil, logger)
        }
        return false
    }

    private func log(isAside: Bool, _ server: Int, _ reason: String?, _ logger: Logger) {
        guard hasSeveral || plan.settings.health != nil else { return }
        var metadata: Logger.Metadata = ["origin": "\(name)", "origin.server": "\(servers[server].name)"]
        if let reason { metadata["origin.reason"] = "\(reason)" }
        if isAside {
            logger.notice("Origin server set aside", metadata: metadata)
        } else {
            logger.notice("Origin server responds again", metadata: metadata)
        }
    }

    /// The state of the servers, for operators.
    var conditions: [OriginCondition.Server] {
        report.map { server, isAside, counts in
            OriginCondition.Server(
                name: server.name,
                isAside: isAside,
                responses: counts.responses,
                failures: counts.failures.values.reduce(0, +)
            )
        }
    }

    /// Whether each server is set aside, and its counts.
    var report: [(server: OriginServer, isAside: Bool, counts: Counts)] {
        zip(servers, states.withLock { $0 }).map { ($0, $1.health.isAside, $1.counts) }
    }
}

/// The reason for a server's failure. The value of a metric's label.
enum FailureReason: String, Sendable, CaseIterable {
    /// No connection could be opened.
    case connect
    /// TLS failed, or the certificate is invalid.
    case tls
    /// The connection was closed before the response.
    case closed
    /// The response did not arrive in time.
    case timeout
    /// 502, 503 or 504.
    case status
    /// The response is malformed HTTP.
    case malformed

    /// Whether the failure used up the request's time.
    func isSlow(_ outcome: Failover.Outcome) -> Bool {
        if case .failure(.connectTimeout, _) = outcome { return true }
        return self == .timeout
    }

    /// Returns the reason for an outcome; `nil` if the server is not at fault.
    init?(_ outcome: Failover.Outcome) {
        guard Failover.isFault(outcome) else { return nil }
        switch outcome {
        case .response: self = .status
        case .failure(.tls, _): self = .tls
        case .failure(.connectionClosed, _): self = .closed
        case .failure(.timeout, _): self = .timeout
        case .failure(.protocolViolation, _): self = .malformed
        case .failure: self = .connect
        }
    }
}
