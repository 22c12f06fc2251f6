import HTTPCache

/// The state of a gateway for load balancers, service managers and people.
struct HealthReport: Sendable, Hashable, Encodable {
    typealias Status = HealthStatus

    struct Check: Sendable, Hashable, Encodable {
        var status: Status
        var detail: String
    }

    var status: Status
    var checks: [String: Check]

    init(_ checks: [String: Check]) {
        self.checks = checks
        let all = checks.values.map(\.status)
        status = [.failing, .ending, .degraded].first(where: all.contains) ?? .ok
    }

    /// 200, or 503 if it must get no requests.
    var httpStatus: Int { status.httpStatus }
}

extension HealthReport {
    /// Whether every event loop responds. Neither the disk nor an origin is looked at.
    static func liveness(stuckLoops: [Int]) -> HealthReport {
        HealthReport(["loops": loops(stuckLoops)])
    }

    /// Whether the gateway can answer: it can as long as it listens and its store can be read.
    ///
    /// An unreachable origin, the mode and a store that accepts no writes degrade it only. A load
    /// balancer must not remove the one program that still answers.
    ///
    /// - Parameter fleet: the state of what is shared with other nodes, if anything is. It
    ///   degrades the gateway only, too: its own store is the authority.
    static func readiness(
        _ phase: ServingPhase,
        _ store: StoreCondition,
        _ origins: [String],
        _ mode: ModeState,
        fleet: FleetCondition? = nil
    ) -> HealthReport {
        var checks = [
            "serving": serving(phase), "store": Check(store), "origins": unreachable(origins), "mode": Check(mode),
        ]
        if let fleet {
            checks["fleet"] = Check(
                status: fleet.isStarting ? .failing : fleet.isFollowing ? .ok : .degraded,
                detail: fleet.detail
            )
        }
        return HealthReport(checks)
    }

    /// All checks.
    func adding(_ other: HealthReport) -> HealthReport {
        HealthReport(checks.merging(other.checks) { $1 })
    }

    private static func loops(_ stuck: [Int]) -> Check {
        guard let first = stuck.first else { return Check(status: .ok, detail: "every event loop responds") }
        let others = stuck.count > 1 ? " and \(stuck.count - 1) more" : ""
        return Check(status: .failing, detail: "event loop \(first)\(others) did not respond for 2 s")
    }

    private static func serving(_ phase: ServingPhase) -> Check {
        switch phase {
        case .starting: Check(status: .failing, detail: "the gateway is starting")
        case .serving: Check(status: .ok, detail: "the gateway accepts connections")
        case .ending: Check(status: .ending, detail: "the gateway is shutting down")
        }
    }

    private static func unreachable(_ origins: [String]) -> Check {
        if origins.isEmpty { return Check(status: .ok, detail: "no origin is known to be unreachable") }
        let shown = origins.prefix(10).joined(separator: ", ")
        let rest = origins.count > 10 ? " and \(origins.count - 10) more" : ""
        return Check(status: .degraded, detail: "unreachable: \(shown)\(rest); stored responses are served")
    }
}

extension HealthReport.Check {
    fileprivate init(_ store: StoreCondition) {
        switch store {
        case .usable: self.init(status: .ok, detail: "the store is readable and writable")
        case .readOnly: self.init(status: .degraded, detail: "the store is read-only; new responses are not stored")
        case .notWritable:
            self.init(status: .degraded, detail: "the disk is not writable; new responses are not stored")
        case .unreadable(let why): self.init(status: .failing, detail: "the store cannot be read: \(why)")
        }
    }

    fileprivate init(_ state: ModeState) {
        let end = state.temporary.map { " until \(EndTime.text($0.until))" } ?? ""
        let mode = "the mode is \(state.value.rawValue)\(end)"
        switch state.value {
        case .online, .automatic, .preferStored: self.init(status: .ok, detail: mode)
        case .offline: self.init(status: .degraded, detail: "\(mode); origins get no requests")
        }
    }
}

/// How far a gateway is between its start and its end.
public enum ServingPhase: String, Sendable, Hashable {
    /// It does not listen yet.
    case starting
    /// It accepts connections.
    case serving
    /// It was asked to end.
    case ending
}
