package import HTTPCacheSemantics

/// Whether one origin counts as unreachable, and which requests to it fail by themselves. Pure:
/// events go in, verdicts come out.
///
/// An origin is unreachable where no connection comes about, where it hangs up on requests and then
/// on probes for something else too, or where it is silent to requests for different targets in a
/// row. A target that fails among others that succeed is that target's affair: see
/// ``FailingTargets``. Open, the breaker lets through the background probes and, while clients ask
/// for what is not stored, one request a second. docs/decisions/0007
package struct Breaker: Sendable, Hashable {
    /// How a request failed.
    package enum Failure: Sendable, Hashable {
        /// No connection came about: the target has no part in it.
        case connection
        /// The origin took the connection, and hung up. To see whether it does so on others takes
        /// no time.
        case hangUp
        /// The origin took the connection, and was silent. To see whether it is so to others takes
        /// as long again.
        case silence
    }

    /// What a request may expect.
    package enum Verdict: Sendable, Hashable {
        case reachable
        /// This request failed again and again, and the origin did not.
        case failing
        case unreachable
    }

    /// What is to be done after a failure.
    package enum Action: Sendable, Hashable {
        case none
        /// Ask the origin for something else at once, before it is called unreachable.
        case confirm
        /// The origin counts as unreachable from now on: begin to probe.
        case open
    }

    private enum Phase: Sendable, Hashable {
        case closed
        /// Something else is asked for, as often as this in vain; requests go on.
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
        /// Connections on which no response came.
        var responses = 0
        /// The different targets at which it was silent; no more than can matter.
        var silentTargets: [Int] = []
    }

    private var phase = Phase.closed
    private var run = Run()
    private var failing = FailingTargets()
    /// How often of late the origin turned out reachable just after it was called unreachable, up
    /// to ``doubtLimit``: then it takes more to call it so again.
    private var doubt = 0
    private var doubtedAt = Timestamp.distantPast
    /// When asking for something else last showed that the origin is reachable.
    private var confirmedAt: Timestamp?
    private var didConnect = false

    package init() {}

    /// Clients that ask for what is not stored have one request go through in this time.
    package static let tryPause = Duration.seconds(1)
    /// The same where it was wrong of late to call the origin unreachable.
    static let tryPauseInDoubt = Duration.milliseconds(250)
    /// Probes that must fail too where something else is asked for before the origin is called
    /// unreachable.
    static let confirmations = 2
    /// A target that failed lately leaves the turn to others for this long.
    static let courtesy = Duration.milliseconds(500)
    /// An origin that is back sooner than this was not gone.
    static let falseAlarm = Duration.seconds(2)
    /// How long doubt lasts without anything that renews it.
    static let doubtMemory = Duration.seconds(60)
    private static let doubtLimit = 2

    package var isOpen: Bool {
        if case .open = phase { true } else { false }
    }

    /// Whether the origin is to be asked for something, to see whether it is reachable.
    var isProbed: Bool { phase != .closed }

    /// Nothing needs to be remembered.
    package var isIdle: Bool {
        phase == .closed && run.connections == 0 && run.responses == 0 && failing.isEmpty && doubt == 0
    }

    /// Whether the last failure was one after a connection: then a probe asks for another target
    /// than the one that failed.
    var probesAnotherTarget: Bool { didConnect }

    /// Probes that failed since it opened.
    var probeCount: Int {
        if case .open(let open) = phase { open.probes } else { 0 }
    }

    /// Whether a target failed lately.
    func isFailing(target: Int) -> Bool { failing.contains(target: target) }

    // MARK: Events

    /// The origin sent a response, whatever it says.
    ///
    /// - Returns: whether it counted as unreachable.
    package mutating func answered(_ asked: AskedTarget, at now: Timestamp) -> Bool {
        guard !isIdle else { return false }
        switch phase {
        case .closed:
            // As long as failures and successes alternate, the doubt stays.
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

    /// A request failed.
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
        case .hangUp, .silence:
            run.responses += 1
            failing.failed(asked, threshold: options.failureThreshold, at: now)
            if failure == .silence, run.silentTargets.count < options.silenceThreshold,
                !run.silentTargets.contains(asked.target)
            {
                run.silentTargets.append(asked.target)
            }
        }
        guard !isOpen else { return .none }
        switch failure {
        case .connection:
            // One is enough, unless connections were refused and taken in turn: then a row that
            // chance does not make.
            guard run.connections >= 1 << (2 * doubt) else { return .none }
            open(at: now, firstTry: now)
        case .hangUp, .silence:
            // To confirm it would keep every miss waiting until it has been silent to the probes
            // too.
            guard run.silentTargets.count >= options.silenceThreshold, doubt == 0 else {
                return run.responses >= options.failureThreshold ? confirm(at: now) : .none
            }
            // Where different targets have failed already, one more is not worth trying at once.
            open(at: now, firstTry: now.adding(Self.tryPause))
        }
        return .open
    }

    /// It may be wrong to call the origin unreachable: it is asked for something else first, once a
    /// second at most. Requests go on meanwhile, so that being wrong costs nobody anything.
    private mutating func confirm(at now: Timestamp) -> Action {
        if case .confirming = phase { return .none }
        if let confirmedAt, isRecent(confirmedAt, now, Self.tryPause) { return .none }
        phase = .confirming(failures: 0)
        return .confirm
    }

    /// A probe found the origin unreachable.
    package mutating func probeFailed(at now: Timestamp) -> Action {
        switch phase {
        case .closed: return .none
        case .confirming(let failures):
            // The one target may fail as well.
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

    /// Whether a request that nothing stored can answer may be sent; it takes the turn.
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

    /// What ``admit(_:at:)`` would say.
    package func wouldAdmit(_ asked: AskedTarget, at now: Timestamp) -> Bool {
        guard case .open(let open) = phase else { return !failing.refuses(asked, at: now) }
        let pause = failing.contains(target: asked.target) ? Self.courtesy : .zero
        // A clock that was set back keeps nobody waiting.
        return now >= open.nextTry.adding(pause) || now < open.since
    }

    /// How long to wait before the next probe; `nil` where none is needed.
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
    /// Different targets at which an origin is silent before it counts as unreachable: one says
    /// nothing about others.
    fileprivate var silenceThreshold: Int { max(failureThreshold, 2) }
}
