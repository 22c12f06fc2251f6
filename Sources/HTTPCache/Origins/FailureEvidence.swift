package import HTTPCacheSemantics

/// Decides from how requests end whether a server is to blame, or only what was asked for. Pure:
/// events go in, judgements come out.
///
/// A client chooses what it asks for, so a target that always fails must not decide about the
/// server. A failure to connect blames the server, because no target has a part in it. After any
/// other failures in a row something else is asked for first, or different targets must have
/// failed. ``Breaker`` and the gateway's view of a server's health both rest on it.
/// docs/decisions/0007, docs/decisions/0053
package struct FailureEvidence: Sendable, Hashable {
    /// How a request failed.
    package enum Failure: Sendable, Hashable {
        /// No connection was made, so the target is not the cause.
        case connection
        /// The server accepted the connection and hung up, or responded with an error. To test
        /// whether it does so for other targets takes no time.
        case hangUp
        /// The server accepted the connection and was silent. To test whether it is silent to
        /// others takes as long again.
        case silence

        /// The kind of failure; `nil` if the server is not the cause. A failure of this system
        /// itself never counts.
        package init?(_ code: TransportError.Code) {
            switch code {
            case .connect, .connectTimeout, .nameResolution, .tls: self = .connection
            case .connectionClosed: self = .hangUp
            case .timeout: self = .silence
            default: return nil
            }
        }
    }

    /// The meaning of a failure.
    package enum Judgement: Sendable, Hashable {
        case nothing
        /// Ask the server for something else at once, before it is blamed. Requests continue.
        case confirm
        /// The server fails, whatever is asked for.
        case blame
    }

    /// Failures since the last success.
    private struct Run: Sendable, Hashable {
        var connections = 0
        /// Connections without a response.
        var responses = 0
        /// The different targets to which it was silent, as many as can matter.
        var silentTargets: [Int] = []
    }

    private var run = Run()
    private var failing = FailingTargets()
    /// The confirmations that have failed; `nil` if nothing is being confirmed.
    private var failedConfirmations: Int?
    /// How often lately the server was blamed by mistake, up to ``doubtLimit``. In doubt, it takes
    /// more failures.
    private var doubt = 0
    private var doubtedAt = Timestamp.distantPast
    /// When a request for something else last showed that the server works.
    private var confirmedAt: Timestamp?

    package init() {}

    /// The number of requests for something else that must fail before the server is blamed.
    package static let confirmations = 2
    /// The shortest time from a confirmation that succeeded to the next one.
    static let confirmationPause = Duration.seconds(1)
    /// If a server responds again sooner than this after it was blamed, that was a mistake.
    static let falseAlarm = Duration.seconds(2)
    /// How long doubt lasts if nothing renews it.
    static let doubtMemory = Duration.seconds(60)
    private static let doubtLimit = 2

    /// Whether there is nothing to remember.
    package var isIdle: Bool {
        failedConfirmations == nil && run.connections == 0 && run.responses == 0 && failing.isEmpty && doubt == 0
    }

    /// Whether something else is being asked for, to find out whether the server is to blame.
    package var isConfirming: Bool { failedConfirmations != nil }

    package var isInDoubt: Bool { doubt > 0 }

    /// Whether a target failed lately.
    package func isFailing(target: Int) -> Bool { failing.contains(target: target) }

    /// Whether this very request failed so often in a row that it is not sent now.
    package func refuses(_ asked: AskedTarget, at now: Timestamp) -> Bool { failing.refuses(asked, at: now) }

    // MARK: Events

    /// Records that the server is in order.
    ///
    /// - Parameters:
    ///   - asked: what it responded to.
    ///   - blamed: when it was blamed; `nil` if it is not.
    package mutating func succeeded(_ asked: AskedTarget, blamed: Timestamp?, at now: Timestamp) {
        if let blamed {
            if now < blamed.adding(Self.falseAlarm) {
                doubt = min(doubt + 1, Self.doubtLimit)
                doubtedAt = now
            }
        } else if isConfirming {
            confirmedAt = now
            doubtedAt = now
        } else if doubt > 0, run != Run() {
            // While failures and successes alternate, the doubt stays.
            doubtedAt = now
        }
        failedConfirmations = nil
        run = Run()
        failing.succeeded(asked)
        forget(at: now)
    }

    /// Records a failed request.
    ///
    /// - Parameters:
    ///   - threshold: the failures in a row that count, and the different targets to which a server
    ///     must be silent.
    ///   - isBlamed: whether the server is blamed already.
    package mutating func failed(
        _ asked: AskedTarget,
        _ failure: Failure,
        threshold: Int,
        isBlamed: Bool,
        at now: Timestamp
    ) -> Judgement {
        forget(at: now)
        switch failure {
        case .connection:
            run.connections += 1
            // One failure is enough, unless connections fail and succeed in turn. Then it takes a
            // row that chance does not produce.
            guard !isBlamed, run.connections >= 1 << (2 * doubt) else { return .nothing }
        case .hangUp, .silence:
            run.responses += 1
            failing.failed(asked, threshold: threshold, at: now)
            // At least two, because one target is no evidence about others.
            let silenceThreshold = max(threshold, 2)
            if failure == .silence, run.silentTargets.count < silenceThreshold,
                !run.silentTargets.contains(asked.target)
            {
                run.silentTargets.append(asked.target)
            }
            guard !isBlamed else { return .nothing }
            // A confirmation would keep every request waiting until the server has been silent to
            // it too.
            guard run.silentTargets.count >= silenceThreshold, doubt == 0 else {
                return run.responses >= threshold ? confirm(at: now) : .nothing
            }
        }
        failedConfirmations = nil
        return .blame
    }

    /// Asks for something else first, at most once a second, because it may be wrong to blame the
    /// server. Requests continue meanwhile, so a wrong suspicion costs nothing.
    private mutating func confirm(at now: Timestamp) -> Judgement {
        if isConfirming { return .nothing }
        if let confirmedAt, isRecent(confirmedAt, now, Self.confirmationPause) { return .nothing }
        failedConfirmations = 0
        return .confirm
    }

    /// Records that a request for something else failed.
    ///
    /// - Returns: ``Judgement/blame``, or ``Judgement/confirm`` to ask for another thing, because
    ///   the first one may be the target that fails.
    package mutating func confirmationFailed() -> Judgement {
        guard let failedConfirmations else { return .nothing }
        guard failedConfirmations + 1 >= Self.confirmations else {
            self.failedConfirmations = failedConfirmations + 1
            return .confirm
        }
        self.failedConfirmations = nil
        return .blame
    }

    private mutating func forget(at now: Timestamp) {
        failing.forget(at: now)
        if doubt > 0, !isRecent(doubtedAt, now, Self.doubtMemory) { doubt = 0 }
    }

    private func isRecent(_ then: Timestamp, _ now: Timestamp, _ duration: Duration) -> Bool {
        now >= then && now < then.adding(duration)
    }
}
