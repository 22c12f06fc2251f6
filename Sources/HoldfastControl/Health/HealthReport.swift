import HTTPCache
import HTTPCacheOperations

/// A gateway's health for load balancers, service managers and people.
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

    /// The HTTP status: 200, or 503 if the gateway must not receive requests.
    var httpStatus: Int { status.httpStatus }
}

extension HealthReport {
    /// Returns a report on whether every event loop responds. It does not check the disk or the
    /// origins.
    static func liveness(stuckLoops: [Int]) -> HealthReport {
        HealthReport(["loops": loops(stuckLoops)])
    }

    /// Returns a report on whether the gateway can serve: it is listening, and its store can be
    /// read.
    ///
    /// An unreachable origin, `offline` mode, or a store that accepts no writes or whose folder was
    /// replaced only degrades the gateway. A load balancer must not remove the only program that
    /// can still respond.
    ///
    /// - Parameter fleet: the state of the fleet; `nil` without a fleet. A fleet problem also only
    ///   degrades the gateway, because the node serves from its own store.
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

    /// Returns a report with the checks of both reports.
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
        case .readOnlyOnFullDisk:
            self.init(
                status: .degraded,
                detail: "the disk was full at the start, so the store is read-only; free some space, then restart"
            )
        case .notWritable:
            self.init(status: .degraded, detail: "the disk is not writable; new responses are not stored")
        case .full: self.init(status: .degraded, detail: "the disk is full; new responses are not stored")
        case .evicting:
            self.init(status: .degraded, detail: "the disk is full; stored responses are evicted for new ones")
        case .fullOfPins:
            self.init(status: .degraded, detail: "pinned responses fill the store; new responses are not stored")
        case .replaced:
            self.init(status: .degraded, detail: "another folder replaced the store's; restart to use it")
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

/// A phase in a gateway's life.
package enum ServingPhase: String, Sendable, Hashable {
    /// The gateway is not listening yet.
    case starting
    /// The gateway accepts connections.
    case serving
    /// The gateway is shutting down.
    case ending
}
