package import HTTPCacheSemantics

/// Decides whether an origin is treated as unreachable, and which individual requests are rejected.
/// A pure value: it takes events and returns verdicts.
///
/// ``FailureEvidence`` judges whether an origin is unreachable. There are three cases:
/// - No connection can be opened.
/// - The origin closes the connection on consecutive requests, or does not respond to them, and
///   then probes for other targets fail too.
/// - The origin does not respond to consecutive requests for different targets.
///
/// If one target fails while others succeed, only that target is affected: see ``FailingTargets``.
/// An open breaker lets the background probes through. It also lets one request per second through
/// for which no stored response can be served (one every 250 ms while it is in doubt whether the
/// origin is unreachable). It does not affect requests that bypass the store. docs/decisions/0007
package struct Breaker: Sendable, Hashable {
    /// How a request failed.
    package typealias Failure = FailureEvidence.Failure

    /// The verdict on a request.
    package enum Verdict: Sendable, Hashable {
        case reachable
        /// This request failed repeatedly, but the origin responds to others.
        case failing
        case unreachable
    }

    /// The action after a failure.
    package enum Action: Sendable, Hashable {
        case none
        /// Immediately send the origin a different request, before it is treated as unreachable.
        case confirm
        /// The origin is now treated as unreachable. Start probing.
        case open
    }

    private struct Outage: Sendable, Hashable {
        let since: Timestamp
        var probes = 0
        /// When the next request may go through.
        var nextTry: Timestamp
    }

    private var evidence = FailureEvidence()
    /// `nil` while the breaker is closed.
    private var outage: Outage?
    private var didConnect = false

    package init() {}

    /// The time between two requests that an open breaker lets through if no stored response can be
    /// served for them.
    package static let tryPause = Duration.seconds(1)
    /// The same time while it is in doubt whether the origin is unreachable.
    static let tryPauseInDoubt = Duration.milliseconds(250)
    /// The time for which a target that failed recently lets other targets go first.
    static let courtesy = Duration.milliseconds(500)

    package var isOpen: Bool { outage != nil }

    /// When the breaker opened; `nil` if it is closed.
    var openSince: Timestamp? { outage?.since }

    /// Whether probes should test whether the origin is reachable.
    var isProbed: Bool { isOpen || evidence.isConfirming }

    /// Whether the breaker has no state to keep.
    package var isIdle: Bool { outage == nil && evidence.isIdle }

    /// Whether the last failure came after a connection was opened. If so, a probe requests a
    /// different target.
    var probesAnotherTarget: Bool { didConnect }

    /// The number of failed probes since the breaker opened.
    var probeCount: Int { outage?.probes ?? 0 }

    /// Returns whether a target failed recently.
    func isFailing(target: Int) -> Bool { evidence.isFailing(target: target) }

    // MARK: Events

    /// Records a response from the origin, whatever its status.
    ///
    /// - Returns: whether the origin was treated as unreachable.
    package mutating func answered(_ asked: AskedTarget, at now: Timestamp) -> Bool {
        guard !isIdle else { return false }
        evidence.succeeded(asked, blamed: openSince, at: now)
        defer { outage = nil }
        return isOpen
    }

    /// Records a failed request.
    package mutating func failed(
        _ asked: AskedTarget,
        _ failure: Failure,
        _ options: BreakerOptions,
        at now: Timestamp
    ) -> Action {
        didConnect = failure != .connection
        let threshold = options.failureThreshold
        switch evidence.failed(asked, failure, threshold: threshold, isBlamed: isOpen, at: now) {
        case .nothing: return .none
        case .confirm: return .confirm
        case .blame:
            // The origin already failed to respond for different targets, so it is not worth trying
            // another request immediately.
            outage = Outage(since: now, nextTry: failure == .connection ? now : now.adding(Self.tryPause))
            return .open
        }
    }

    /// Records a probe that did not reach the origin.
    package mutating func probeFailed(at now: Timestamp) -> Action {
        guard outage == nil else {
            outage?.probes += 1
            return .none
        }
        guard evidence.confirmationFailed() == .blame else { return .none }
        outage = Outage(since: now, nextTry: now.adding(Self.tryPause))
        return .open
    }

    /// Returns whether a request for which no stored response can be served may be sent now. If so,
    /// the request uses up the current interval's permission.
    package mutating func admit(_ asked: AskedTarget, at now: Timestamp) -> Bool {
        guard wouldAdmit(asked, at: now) else { return false }
        outage?.nextTry = now.adding(evidence.isInDoubt ? Self.tryPauseInDoubt : Self.tryPause)
        return true
    }

    // MARK: Questions

    package func verdict(for asked: AskedTarget, at now: Timestamp) -> Verdict {
        if isOpen { return .unreachable }
        return evidence.refuses(asked, at: now) ? .failing : .reachable
    }

    /// Returns what ``admit(_:at:)`` would return, without using up the permission.
    package func wouldAdmit(_ asked: AskedTarget, at now: Timestamp) -> Bool {
        guard let outage else { return !evidence.refuses(asked, at: now) }
        let pause = evidence.isFailing(target: asked.target) ? Self.courtesy : .zero
        // A clock that was set back does not extend the wait.
        return now >= outage.nextTry.adding(pause) || now < outage.since
    }

    /// Returns the time to wait before the next probe; `nil` if no probe is needed.
    ///
    /// - Parameter jitter: from 0 to 1; spreads the probes of many processes that lost the same
    ///   origin at the same moment.
    package func backOff(_ options: BreakerOptions, jitter: Double) -> Duration? {
        guard let outage else { return evidence.isConfirming ? .zero : nil }
        let doubled = options.initialBackOff * (1 << min(outage.probes, 20))
        return min(doubled, options.maximumBackOff) * (0.5 + 0.5 * min(max(jitter, 0), 1))
    }
}
