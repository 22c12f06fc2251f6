import GatewayRouting
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
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
        var failures: [String: Int] = [:]
        var goodChecks = 0
        var failedChecks = 0
    }

    private struct State {
        var health = ServerHealth()
        var counts = Counts()
        var notes = FailureNotes()
        /// Whether the last request to an origin's only server found no connection. Such a server
        /// is never set aside.
        var isUnconnected = false
        /// Whether an operator drained the server.
        var isDrained = false
        /// When the server was chosen last, as a number that grows with each choice; 0 without
        /// `balance: round-robin`.
        var turn: UInt64 = 0
    }

    let plan: Plan
    let name: String
    /// The `Host` for the origin's own servers.
    let authority: String
    /// The origin's own servers, then its mirrors; at least one.
    let servers: [OriginServer]
    let firstMirror: Int
    private let states: Mutex<[State]>
    /// Whether any server is drained.
    private let hasDrained = Atomic(false)

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

    /// Whether ``FailoverCall`` must choose a server for each request.
    var choosesServers: Bool { hasSeveral || hasDrained.load(ordering: .acquiring) }

    /// Drains these servers, and ends the drain of all others. Requests in progress continue.
    func drain(_ names: Set<String>) {
        states.withLock { states in
            for number in servers.indices { states[number].isDrained = names.contains(servers[number].name) }
            hasDrained.store(states.contains(where: \.isDrained), ordering: .releasing)
        }
    }

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
        let (failover, due) = states.withLock { states in
            var candidates: [Failover.Server] = []
            for number in servers.indices {
                candidates.append(
                    Failover.Server(
                        availability: states[number].health.availability(for: asked, at: now),
                        isMirror: number >= firstMirror,
                        takesCredentials: servers[number].takesCredentials,
                        isDrained: states[number].isDrained,
                        turn: states[number].turn
                    )
                )
            }
            let failover = Failover(candidates, request)
            // The turn is taken under the lock, so that concurrent requests get different servers.
            if plan.settings.balance == .roundRobin, let first = failover.firstServer {
                states[first].turn = 1 + (states.map(\.turn).max() ?? 0)
            }
            let due = states.indices.filter { !states[$0].isDrained && states[$0].health.beginLook(at: now) }
            return (failover, due)
        }
        for server in due { look(server) }
        return failover
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
    /// - Parameters:
    ///   - error: the failure, if no response arrived.
    ///   - asked: called only after a recent failure.
    /// - Returns: whether the gateway must send the server a request of its own.
    func note(
        _ outcome: Failover.Outcome,
        _ error: TransportError?,
        of server: Int,
        _ asked: () -> AskedTarget,
        _ logger: Logger
    ) -> Bool {
        let now = Timestamp(.now())
        guard let failure = FailureEvidence.Failure(outcome) else {
            guard case .response = outcome else { return false }
            let step = states.withLock { states in
                states[server].counts.responses += 1
                states[server].notes.succeed()
                return states[server].health.succeed(asked, at: now)
            }
            return perform(step, of: server, logger)
        }
        let cause = FailureCause(outcome, error, of: servers[server].name)
        let (step, hasChanged) = states.withLock { states in
            states[server].counts.failures[cause.reason, default: 0] += 1
            let hasChanged = states[server].notes.note(cause, at: now)
            return (states[server].health.fail(asked(), failure, isSlow: outcome.isSlow, at: now), hasChanged)
        }
        return perform(step, of: server, hasChanged: hasChanged, logger)
    }

    /// Counts the outcome of a client's request to the only server of an origin. The server is not
    /// set aside for it, because no other server can take its requests.
    func count(_ result: Result<CallbackResponse, any Error>) {
        let outcome: Failover.Outcome
        var failure: TransportError?
        switch result {
        case .success(.response(let response)): outcome = .response(status: response.head.status.code)
        case .success(.relayed(let response)): outcome = .response(status: response.status)
        case .failure(let error as TransportError):
            failure = error
            outcome = .failure(error.code, isUnsent: false)
        case .failure: return
        }
        let server = 0
        let cause = Failover.isFault(outcome) ? FailureCause(outcome, failure, of: servers[server].name) : nil
        // A failure of this system itself does not count.
        guard cause != nil || failure == nil else { return }
        let now = Timestamp(.now())
        states.withLock { states in
            if let cause {
                states[server].counts.failures[cause.reason, default: 0] += 1
            } else {
                states[server].counts.responses += 1
            }
            states[server].isUnconnected = FailureEvidence.Failure(outcome) == .connection
            _ = states[server].notes.take(cause, at: now)
        }
    }

    /// Records the result of one of the gateway's own requests, which check whether a server is at
    /// fault or is back.
    ///
    /// - Parameter cause: `nil` if the response is good.
    /// - Returns: whether to send the server another request.
    func noteProbe(of server: Int, _ asked: AskedTarget, _ cause: FailureCause?, _ logger: Logger) -> Bool {
        let now = Timestamp(.now())
        let (step, hasChanged) = states.withLock { states in
            let hasChanged = states[server].notes.take(cause, at: now)
            return (states[server].health.probed(asked, isGood: cause == nil, at: now), hasChanged)
        }
        return perform(step, of: server, hasChanged: hasChanged, logger)
    }

    /// Records the result of a health check.
    ///
    /// - Parameter cause: `nil` if the response is good.
    /// - Returns: whether to repeat the check immediately.
    func noteCheck(of server: Int, _ cause: FailureCause?, _ logger: Logger) -> Bool {
        let now = Timestamp(.now())
        let (step, hasChanged) = states.withLock { states in
            if cause == nil { states[server].counts.goodChecks += 1 } else { states[server].counts.failedChecks += 1 }
            let hasChanged = states[server].notes.take(cause, at: now)
            return (states[server].health.check(isGood: cause == nil), hasChanged)
        }
        return perform(step, of: server, hasChanged: hasChanged, logger)
    }

    /// - Parameter hasChanged: whether the server failed for another reason than before.
    private func perform(
        _ step: ServerHealth.Step,
        of server: Int,
        hasChanged: Bool = false,
        _ logger: Logger
    ) -> Bool {
        switch step {
        case .none: if hasChanged { logChange(server, logger) }
        case .ask: return true
        case .setAside: log("Origin server set aside", server, logger)
        case .takeBack: log("Origin server responds again", server, logger)
        }
        return false
    }

    private func logChange(_ server: Int, _ logger: Logger) {
        guard states.withLock({ $0[server].health.isAside }) else { return }
        log("Origin server set aside for another reason", server, logger)
    }

    private func log(_ message: Logger.Message, _ server: Int, _ logger: Logger) {
        guard hasSeveral || plan.settings.health != nil else { return }
        var metadata: Logger.Metadata = ["origin": "\(name)", "origin.server": "\(servers[server].name)"]
        if let cause = states.withLock({ $0[server].notes.last }) {
            metadata["origin.reason"] = "\(cause.reason)"
            metadata["error"] = "\(cause.message)"
        }
        logger.notice(message, metadata: metadata)
    }

    /// The state of the servers, for operators.
    var conditions: [OriginCondition.Server] {
        zip(servers, states.withLock { $0 }).map { server, state in
            OriginCondition.Server(
                name: server.name,
                isAside: state.health.isAside,
                responses: state.counts.responses,
                failures: state.counts.failures.values.reduce(0, +),
                cause: state.notes.last,
                isDrained: state.isDrained
            )
        }
    }

    /// Whether each server is set aside or, as an origin's only server, cannot be reached; and its
    /// counts.
    var report: [(server: OriginServer, isAside: Bool, counts: Counts)] {
        zip(servers, states.withLock { $0 }).map { ($0, $1.health.isAside || $1.isUnconnected, $1.counts) }
    }
}

extension Failover.Outcome {
    /// Whether the failure used up the request's time.
    fileprivate var isSlow: Bool {
        guard case .failure(let code, _) = self else { return false }
        return code == .connectTimeout || code == .timeout
    }
}

extension FailureCause {
    /// Creates the cause of a server's fault.
    init(_ outcome: Failover.Outcome, _ error: TransportError?, of server: String) {
        if case .response(let status) = outcome {
            self.init(status: status, of: server)
        } else {
            self =
                error.map { FailureCause($0) }
                ?? FailureCause(reason: "other", message: "'\(server)' failed. See its log.")
        }
    }

    /// Creates the cause for a response that counts as a failure.
    init(status: Int, of server: String) {
        self.init(reason: "status", message: "'\(server)' responded with \(status). See its log.")
    }
}
