/// Decides when to reconnect to a server and when to send commands. A pure value: events and the
/// time go in, steps come out.
///
/// The circuit breaker opens after ``SupervisorPolicy/failures`` consecutive failures. A command
/// that timed out, a lost connection and a failed attempt to connect are failures. While the
/// breaker is open, commands fail immediately, until a `PING` succeeds.
struct SupervisorMachine: Sendable {
    /// The next step.
    enum Step: Sendable, Hashable {
        case connect
        case probe
        /// Wait until this time, unless an event occurs first.
        case wait(until: Duration)
        case waitForEvent
        case end
    }

    private enum Link: Sendable {
        case none(retryAt: Duration)
        case connecting
        case connected(since: Duration, hasReplied: Bool)
        case ended
    }

    private enum Breaker: Sendable {
        case closed(failures: Int)
        case open(probeAt: Duration)
        case probing
    }

    private let policy: SupervisorPolicy
    private var link = Link.none(retryAt: .zero)
    private var breaker = Breaker.closed(failures: 0)
    /// The number of attempts since a connection last worked.
    private var attempts = 0
    private var failedProbes = 0

    init(_ policy: SupervisorPolicy) { self.policy = policy }

    var state: SupervisorState {
        switch (link, breaker) {
        case (.ended, _): .ended
        case (.none, _), (.connecting, _): .unreachable
        case (.connected, .closed): .ready
        case (.connected, .open), (.connected, .probing): .suspended
        }
    }

    mutating func nextStep(at now: Duration) -> Step {
        switch (link, breaker) {
        case (.ended, _): return .end
        case (.none(let time), _):
            guard time <= now else { return .wait(until: time) }
            link = .connecting
            return .connect
        case (.connected, .open(let time)):
            guard time <= now else { return .wait(until: time) }
            breaker = .probing
            return .probe
        case (.connecting, _), (.connected, .closed), (.connected, .probing): return .waitForEvent
        }
    }

    // MARK: Connections

    mutating func connected(at now: Duration) {
        guard case .connecting = link else { return }
        link = .connected(since: now, hasReplied: false)
        if case .open = breaker { breaker = .open(probeAt: now) }
    }

    mutating func failedToConnect(at now: Duration, jitter: Double) {
        guard case .connecting = link else { return }
        disconnect(at: now, jitter)
    }

    mutating func lostConnection(at now: Duration, jitter: Double) {
        guard case .connected(let since, let hasReplied) = link else { return }
        // If a server accepts connections and then closes them, pause before reconnecting.
        if hasReplied || now - since >= policy.longestPause { attempts = 0 }
        if case .probing = breaker { breaker = .open(probeAt: now) }
        disconnect(at: now, jitter)
    }

    private mutating func disconnect(at now: Duration, _ jitter: Double) {
        attempts += 1
        link = .none(retryAt: now + policy.pause(attempts, jitter: jitter))
        countFailure(at: now, jitter)
    }

    // MARK: Commands

    mutating func replied() {
        guard case .connected(let since, _) = link else { return }
        link = .connected(since: since, hasReplied: true)
        // A late reply to an earlier command does not close an open breaker. Only a successful
        // probe closes it.
        if case .closed = breaker { breaker = .closed(failures: 0) }
    }

    mutating func timedOut(at now: Duration, jitter: Double) { countFailure(at: now, jitter) }

    private mutating func countFailure(at now: Duration, _ jitter: Double) {
        guard case .closed(let failures) = breaker else { return }
        guard failures + 1 >= policy.failures else {
            breaker = .closed(failures: failures + 1)
            return
        }
        failedProbes = 0
        breaker = .open(probeAt: now + policy.pause(1, jitter: jitter))
    }

    // MARK: Probes

    mutating func probeSucceeded() {
        guard case .probing = breaker else { return }
        breaker = .closed(failures: 0)
        replied()
    }

    mutating func probeFailed(at now: Duration, jitter: Double) {
        guard case .probing = breaker else { return }
        failedProbes += 1
        breaker = .open(probeAt: now + policy.pause(failedProbes + 1, jitter: jitter))
    }

    mutating func end() { link = .ended }
}
