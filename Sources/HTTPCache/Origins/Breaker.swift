package import HTTPCacheSemantics

/// Decides whether one origin is treated as unreachable, and which single requests are rejected.
/// Pure: events go in, verdicts come out.
///
/// An origin is unreachable in three cases: no connection can be made; it hangs up on requests and
/// then on probes for something else; or it is silent to requests for different targets in a row.
/// If one target fails among others that succeed, only that target is affected: see
/// ``FailingTargets``. An open breaker lets through the background probes. It also lets through one
/// request a second that no stored response can answer. docs/decisions/0007
package struct Breaker: Sendable, Hashable {
    /// How a request failed.
    package enum Failure: Sendable, Hashable {
        /// No connection was made, so the target is not the cause.
        case connection
        /// The origin accepted the connection and hung up. To test whether it does so for other
        /// targets takes no time.
        case hangUp
        /// The origin accepted the connection and was silent. To test whether it is silent to
        /// others takes as long again.
        case silence
    }

    /// The chances of a request.
    package enum Verdict: Sendable, Hashable {
        case reachable
        /// This request failed again and again, but the origin responds to others.
        case failing
        case unreachable
    }

    /// The action after a failure.
    package enum Action: Sendable, Hashable {
        case none
        /// Ask the origin for something else at once, before it is treated as unreachable.
        case confirm
        /// The origin is treated as unreachable from now on: begin to probe.
        case open
    }

    private enum Phase: Sendable, Hashable {
        case closed
        /// The origin is asked for something else, and has failed so often. Requests continue.
        case confirming(failures: Int)
        case open(Open)
    }

    private struct Open: Sendable, Hashable {
        let since: Timestamp
        var probes = 0
        /// When the next request may go through.
        var nextTry: Timestamp
    }

    /// Failures since the last success.
    private struct Run: Sendable, Hashable {
        var connections = 0
        /// Connections without a response.
        var responses = 0
        /// The different targets to which it was silent, as many as can matter.
        var silentTargets: [Int] = []
    }

    private var phase = Phase.closed
    private var run = Run()
    private var failing = FailingTargets()
    /// How often lately the origin was reachable just after it was treated as unreachable, up to
    /// ``doubtLimit``. In doubt, more failures are needed to open the breaker.
    private var doubt = 0
    private var doubtedAt = Timestamp.distantPast
    /// When a request for something else last showed that the origin is reachable.
    private var confirmedAt: Timestamp?
    private var didConnect = false

    package init() {}

    /// The time between two requests that an open breaker lets through, if no stored response can
    /// answer them.
    package static let tryPause = Duration.seconds(1)
    /// The same time while there is doubt.
    static let tryPauseInDoubt = Duration.milliseconds(250)
    /// The number of probes for something else that must fail before the origin is treated as
    /// unreachable.
    static let confirmations = 2
    /// A target that failed lately leaves its turn to others for this long.
    static let courtesy = Duration.milliseconds(500)
    /// If an origin responds again sooner than this, the breaker was wrong to open.
    static let falseAlarm = Duration.seconds(2)
    /// How long doubt lasts if nothing renews it.
    static let doubtMemory = Duration.seconds(60)
    private static let doubtLimit = 2

    package var isOpen: Bool {
        if case .open = phase { true } else { false }
    }

    /// When it opened; `nil` if it is closed.
    var openSince: Timestamp? {
        if case .open(let open) = phase { open.since } else { nil }
    }

    /// Whether probes should test if the origin is reachable.
    var isProbed: Bool { phase != .closed }

    /// Whether there is nothing to remember.
    package var isIdle: Bool {
        phase == .closed && run.connections == 0 && run.responses == 0 && failing.isEmpty && doubt == 0
    }

    /// Whether the last failure came after a connection was made. If so, a probe asks for another
    /// target than the one that failed.
    var probesAnotherTarget: Bool { didConnect }

    /// Probes that failed since the breaker opened.
    var probeCount: Int {
        if case .open(let open) = phase { open.probes } else { 0 }
    }

    /// Whether a target failed lately.
    func isFailing(target: Int) -> Bool { failing.contains(target: target) }

    // MARK: Events

    /// Records a response of the origin, whatever its status.
    ///
    /// - Returns: whether the origin was treated as unreachable.
    package mutating func answered(_ asked: AskedTarget, at now: Timestamp) -> Bool {
        guard !isIdle else { return false }
        switch phase {
        case .closed:
            // While failures and successes alternate, the doubt stays.
            if doubt > 0, run != Run() { doubtedAt = now }
        case .confirming:
            confirmedAt = now
            doubtedAt = now
        case .open(let open):
            guard now < open.since.adding(Self.falseAlarm) else { break }
            doubt = min(doubt + 1, Self.doubtLimit)
            doubtedAt = now
        }
        let wasOpen = isOpen
        phase = .closed
        run = Run()
        failing.succeeded(asked)
        forget(at: now)
        return wasOpen
    }

    /// Records a failed request.
    package mutating func failed(
        _ asked: AskedTarget,
        _ failure: Failure,
        _ options: BreakerOptions,
        at now: Timestamp
    ) -> Action {
        forget(at: now)
        didConnect = failure != .connection
        switch failure {
        case .connection:
            run.connections += 1
            // One failure is enough, unless connections fail and succeed in turn. Then it takes a
            // row that chance does not produce.
            guard !isOpen, run.connections >= 1 << (2 * doubt) else { return .none }
            open(at: now, firstTry: now)
        case .hangUp, .silence:
            run.responses += 1
            failing.failed(asked, threshold: options.failureThreshold, at: now)
            if failure == .silence, run.silentTargets.count < options.silenceThreshold,
                !run.silentTargets.contains(asked.target)
            {
                run.silentTargets.append(asked.target)
            }
            guard !isOpen else { return .none }
            // A confirmation would keep every miss waiting until the origin has been silent to the
            // probes too.
            guard run.silentTargets.count >= options.silenceThreshold, doubt == 0 else {
                return run.responses >= options.failureThreshold ? confirm(at: now) : .none
            }
            // Different targets have failed already, so another request is not worth trying at
            // once.
            open(at: now, firstTry: now.adding(Self.tryPause))
        }
        return .open
    }

    /// Asks for something else first, at most once a second, because it may be wrong to open the
    /// breaker. Requests continue meanwhile, so a wrong suspicion costs nothing.
    private mutating func confirm(at now: Timestamp) -> Action {
        if case .confirming = phase { return .none }
        if let confirmedAt, isRecent(confirmedAt, now, Self.tryPause) { return .none }
        phase = .confirming(failures: 0)
        return .confirm
    }

    /// Records a probe that did not reach the origin.
    package mutating func probeFailed(at now: Timestamp) -> Action {
        switch phase {
        case .closed: return .none
        case .confirming(let failures):
            // The first probe's target may be the one that fails.
            guard failures + 1 >= Self.confirmations else {
                phase = .confirming(failures: failures + 1)
                return .none
            }
            open(at: now, firstTry: now.adding(Self.tryPause))
            return .open
        case .open(var open):
            open.probes += 1
            phase = .open(open)
            return .none
        }
    }

    private mutating func open(at now: Timestamp, firstTry: Timestamp) {
        phase = .open(Open(since: now, nextTry: firstTry))
    }

    /// Whether a request that no stored response can answer may be sent. If so, it takes the turn.
    package mutating func admit(_ asked: AskedTarget, at now: Timestamp) -> Bool {
        guard wouldAdmit(asked, at: now) else { return false }
        if case .open(var open) = phase {
            open.nextTry = now.adding(doubt == 0 ? Self.tryPause : Self.tryPauseInDoubt)
            phase = .open(open)
        }
        return true
    }

    // MARK: Questions

    package func verdict(for asked: AskedTarget, at now: Timestamp) -> Verdict {
        if isOpen { return .unreachable }
        return failing.refuses(asked, at: now) ? .failing : .reachable
    }

    /// The result of ``admit(_:at:)``, without taking the turn.
    package func wouldAdmit(_ asked: AskedTarget, at now: Timestamp) -> Bool {
        guard case .open(let open) = phase else { return !failing.refuses(asked, at: now) }
        let pause = failing.contains(target: asked.target) ? Self.courtesy : .zero
        // A clock that was set back does not extend the wait.
        return now >= open.nextTry.adding(pause) || now < open.since
    }

    /// The time to wait before the next probe; `nil` if none is needed.
    ///
    /// - Parameter jitter: from 0 to 1; spreads the probes of many processes that lost the same
    ///   origin at the same moment.
    package func backOff(_ options: BreakerOptions, jitter: Double) -> Duration? {
        switch phase {
        case .closed: return nil
        case .confirming: return .zero
        case .open(let open):
            let doubled = options.initialBackOff * (1 << min(open.probes, 20))
            return min(doubled, options.maximumBackOff) * (0.5 + 0.5 * min(max(jitter, 0), 1))
        }
    }

    private mutating func forget(at now: Timestamp) {
        failing.forget(at: now)
        if doubt > 0, !isRecent(doubtedAt, now, Self.doubtMemory) { doubt = 0 }
    }

    private func isRecent(_ then: Timestamp, _ now: Timestamp, _ duration: Duration) -> Bool {
        now >= then && now < then.adding(duration)
    }
}

extension BreakerOptions {
    /// The number of different targets to which an origin must be silent before it is treated as
    /// unreachable. At least two, because one target is no evidence about others.
    fileprivate var silenceThreshold: Int { max(failureThreshold, 2) }
}
