import NIOCore

/// Whether a server of an origin is worth a request, by how the last ones ended. Pure.
///
/// After a failure it is set aside: others are asked before it. When its pause is over, one request
/// finds out whether it is back, and each further failure doubles the pause.
struct ServerStanding: Sendable, Hashable {
    /// The pause after a first failure. 1 s
    static let firstPause = TimeAmount.seconds(1)
    /// The longest pause. 60 s
    static let longestPause = TimeAmount.seconds(60)

    /// Whether a request may go there.
    enum Availability: Sendable, Hashable {
        case available
        /// It is set aside, and others are asked before it.
        case aside(until: NIODeadline)
    }

    private var failures = 0
    /// When it was set aside; `nil` if it is not.
    private var since: NIODeadline?
    private var due = NIODeadline.distantPast
    /// When the request began that finds out whether it is back; `nil` if none does.
    private var probed: NIODeadline?
    /// Whether its last health check failed. Then no request finds out, only the next check.
    private var failsChecks = false

    var isAside: Bool { since != nil || failsChecks }

    func availability(at now: NIODeadline) -> Availability {
        if failsChecks { return .aside(until: .distantFuture) }
        return since == nil || now >= due ? .available : .aside(until: due)
    }

    /// Claims the request that finds out whether a server is back, for a caller to which it is
    /// available. No other one does until it has ended: see ``succeed()``, ``fail(begun:at:)``,
    /// ``release(begun:at:)``.
    ///
    /// - Returns: `false` if another request is finding out.
    mutating func begin(at now: NIODeadline) -> Bool {
        guard case .available = availability(at: now) else { return false }
        if since != nil {
            probed = now
            due = now + Self.longestPause
        }
        return true
    }

    /// A request has ended that says nothing of the server. If it was to find out, another one may.
    mutating func release(begun: NIODeadline, at now: NIODeadline) {
        guard let probed, begun >= probed else { return }
        self.probed = nil
        due = now
    }

    /// Records a response.
    ///
    /// - Returns: whether it was set aside.
    mutating func succeed() -> Bool {
        defer {
            (failures, since, probed) = (0, nil, nil)
        }
        return since != nil && !failsChecks
    }

    /// Records a failure.
    ///
    /// - Parameter begun: when the request began. One that began before the server was set aside
    ///   shows nothing new.
    /// - Returns: whether it is set aside by this failure.
    mutating func fail(begun: NIODeadline, at now: NIODeadline) -> Bool {
        if let since, begun < since { return false }
        let wasAside = isAside
        failures = min(failures + 1, 16)
        (since, probed) = (now, nil)
        due = now + pause
        return !wasAside
    }

    /// Records the result of a health check. A good one takes a server back that a check had set
    /// aside. One whose requests failed is taken back by a request: it may do the check alone.
    ///
    /// - Returns: whether it is set aside by this check, or is back by it; `nil` for neither.
    mutating func check(isGood: Bool) -> Bool? {
        let wasAside = isAside
        if isGood, failsChecks { (failures, since, probed) = (0, nil, nil) }
        failsChecks = !isGood
        return wasAside == isAside ? nil : isAside
    }

    private var pause: TimeAmount {
        let doubled = Self.firstPause.nanoseconds << Int64(max(0, failures - 1))
        return min(.nanoseconds(doubled), Self.longestPause)
    }
}
