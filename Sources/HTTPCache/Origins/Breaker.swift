/// Whether one origin counts as reachable. Pure: what happened goes in, what to do comes out.
///
/// Closed, everybody may ask. Open, nobody does but the background probe and, once between two probes, one request that nothing
/// stored can answer: so an origin that is down costs nothing, and one that was called down for the sake of one slow
/// resource is found again by the next request for another.
package struct Breaker: Sendable, Hashable {
    private enum State: Sendable, Hashable {
        case closed(failures: Int)
        case open(probes: Int, isTrialFree: Bool)
    }

    private var state = State.closed(failures: 0)

    package init() {}

    package var isOpen: Bool {
        if case .open = state { true } else { false }
    }

    /// Nothing needs to be remembered.
    var isIdle: Bool { state == .closed(failures: 0) }

    /// The origin answered, whatever it said.
    ///
    /// - Returns: whether it was thought to be away.
    package mutating func answered() -> Bool {
        defer { state = .closed(failures: 0) }
        return isOpen
    }

    /// The origin could not be reached.
    ///
    /// - Parameter isConclusive: no connection at all, so that one failure is enough.
    /// - Returns: whether the breaker opened now: begin to probe.
    package mutating func failed(isConclusive: Bool, threshold: Int) -> Bool {
        guard case .closed(let failures) = state else { return false }
        guard isConclusive || failures + 1 >= threshold else {
            state = .closed(failures: failures + 1)
            return false
        }
        state = .open(probes: 0, isTrialFree: true)
        return true
    }

    /// A probe found the origin away still.
    package mutating func probeFailed() {
        guard case .open(let probes, _) = state else { return }
        state = .open(probes: probes + 1, isTrialFree: true)
    }

    /// Whether a request that nothing stored can answer may be sent.
    package mutating func admit() -> Bool {
        switch state {
        case .closed: return true
        case .open(let probes, let isTrialFree):
            state = .open(probes: probes, isTrialFree: false)
            return isTrialFree
        }
    }

    /// What ``admit()`` would say.
    var wouldAdmit: Bool {
        switch state {
        case .closed: true
        case .open(_, let isTrialFree): isTrialFree
        }
    }

    /// How long to wait before the next probe.
    ///
    /// - Parameter jitter: from 0 to 1; spreads the probes of many processes that lost the same origin at the same moment.
    package func backOff(_ options: BreakerOptions, jitter: Double) -> Duration {
        guard case .open(let probes, _) = state else { return .zero }
        let doubled = options.initialBackOff * (1 << min(probes, 20))
        return min(doubled, options.maximumBackOff) * (0.5 + 0.5 * min(max(jitter, 0), 1))
    }
}
