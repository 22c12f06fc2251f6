package import HTTPCacheSemantics

/// Decides from the results of requests whether a server is at fault, or only the requested target.
/// A pure value: it takes events and returns judgments.
///
/// Clients choose what they request, so a target that always fails must not decide about the
/// server. A failure to connect is always the server's fault, because no target is involved. After
/// other consecutive failures, the server is blamed only if requests for different targets fail
/// too. ``Breaker`` and the gateway's server health both use it. docs/decisions/0007,
/// docs/decisions/0053
package struct FailureEvidence: Sendable, Hashable {
    /// How a request failed.
    package enum Failure: Sendable, Hashable {
        /// No connection was opened, so the target is not the cause.
        case connection
        /// The server accepted the connection but closed it, or responded with an error. Testing
        /// another target is fast.
        case hangUp
        /// The server accepted the connection but did not respond. Testing another target takes
        /// just as long.
        case silence

        /// Creates the kind of failure for an error; `nil` if the server is not the cause. A
        /// failure of this system itself never counts.
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
        /// Immediately send the server a different request, before it is considered at fault.
        /// Requests continue.
        case confirm
        /// The server fails, whatever is requested.
        case blame
    }

    /// Failures since the last success.
    private struct Run: Sendable, Hashable {
        var connections = 0
        /// The number of connections without a response.
        var responses = 0
        /// The different targets for which the server did not respond, up to the number that
        /// matters.
        var silentTargets: [Int] = []
    }

    private var run = Run()
    private var failing = FailingTargets()
    /// The failed confirmations; `nil` if none is in progress.
    private var failedConfirmations: Int?
    /// The number of times that the server was recently blamed by mistake, up to ``doubtLimit``.
    /// The higher the doubt, the more failures are needed.
    private var doubt = 0
    private var doubtedAt = Timestamp.distantPast
    /// When a different request last showed that the server works.
    private var confirmedAt: Timestamp?

    package init() {}

    /// The number of different requests that must fail before the server is considered at fault.
    package static let confirmations = 2
    /// The minimum time between a successful confirmation and the next confirmation.
    static let confirmationPause = Duration.seconds(1)
    /// If a server responds again sooner than this after it was blamed, the blame was a mistake.
    static let falseAlarm = Duration.seconds(2)
    /// How long doubt lasts if it is not renewed.
    static let doubtMemory = Duration.seconds(60)
    private static let doubtLimit = 2

    /// Whether there is no state to keep.
    package var isIdle: Bool {
        failedConfirmations == nil && run.connections == 0 && run.responses == 0 && failing.isEmpty && doubt == 0
    }

    /// Whether different requests are being sent to find out whether the server is at fault.
    package var isConfirming: Bool { failedConfirmations != nil }

    package var isInDoubt: Bool { doubt > 0 }

    /// Returns whether a target failed recently.
    package func isFailing(target: Int) -> Bool { failing.contains(target: target) }

    /// Returns whether this particular request had so many consecutive failures that it is not sent
    /// now.
    package func refuses(_ asked: AskedTarget, at now: Timestamp) -> Bool { failing.refuses(asked, at: now) }

    // MARK: Events

    /// Records that the server works.
    ///
    /// - Parameters:
    ///   - asked: the request that the server responded to.
    ///   - blamed: when the server was blamed; `nil` if it is not blamed.
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
            // The doubt lasts as long as failures and successes alternate.
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
    ///   - threshold: the number of consecutive failures after which a confirmation is needed, and
    ///     the number of different targets for which the server must fail to respond.
    ///   - isBlamed: whether the server is already blamed.
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
            // One failure is enough, unless connections fail and succeed alternately. In that case,
            // a run of failures is needed that is unlikely to happen by chance.
            guard !isBlamed, run.connections >= 1 << (2 * doubt) else { return .nothing }
        case .hangUp, .silence:
            run.responses += 1
            failing.failed(asked, threshold: threshold, at: now)
            // Require at least two, because one target is not evidence about others.
            let silenceThreshold = max(threshold, 2)
            if failure == .silence, run.silentTargets.count < silenceThreshold,
                !run.silentTargets.contains(asked.target)
            {
                run.silentTargets.append(asked.target)
            }
            guard !isBlamed else { return .nothing }
            // If enough different targets got no response, the server is blamed without a
            // confirmation, because every request would have to wait until the confirmation timed
            // out too.
            guard run.silentTargets.count >= silenceThreshold, doubt == 0 else {
                return run.responses >= threshold ? confirm(at: now) : .nothing
            }
        }
        failedConfirmations = nil
        return .blame
    }

    /// Requests a confirmation, at most one per second, because it may be wrong to blame the
    /// server. Other requests continue in the meantime, so a wrong suspicion does no harm.
    private mutating func confirm(at now: Timestamp) -> Judgement {
        if isConfirming { return .nothing }
        if let confirmedAt, isRecent(confirmedAt, now, Self.confirmationPause) { return .nothing }
        failedConfirmations = 0
        return .confirm
    }

    /// Records that a different request failed.
    ///
    /// - Returns: ``Judgement/blame``; or ``Judgement/confirm`` to send another request, because
    ///   the first confirmation may have requested the failing target.
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
