import HTTPCache
import HTTPCacheSemantics
import NIOCore

/// Decides whether an origin's server should get requests, based on recent outcomes. A pure value.
///
/// ``FailureEvidence`` decides whether the server or the requested target is at fault for failures.
/// If the server is at fault, it is set aside: other servers are tried first. After a pause, the
/// gateway's own request checks whether the server is back. A response to a client's request also
/// shows that, but a failure shows nothing, because clients choose what they request.
/// docs/decisions/0053
///
/// Time is in milliseconds of any monotonic clock.
struct ServerHealth: Sendable, Hashable {
    /// The pause after the first failure: 1 s
    static let firstPause = Duration.seconds(1)
    /// The maximum pause: 60 s
    static let longestPause = Duration.seconds(60)
    /// The maximum time that a request may spend on a server that is set aside, if it already has a
    /// response: 2 s
    static let lastChance = Duration.seconds(2)
    /// The number of consecutive failures that count as evidence.
    private static let threshold = BreakerOptions().failureThreshold

    /// Whether a request may go to the server.
    enum Availability: Sendable, Hashable {
        case available
        /// Other servers are tried first.
        case aside
    }

    /// The next step after an event.
    enum Step: Sendable, Hashable {
        case none
        /// Send the server one of the gateway's own requests, then report the result to
        /// ``probed(isGood:at:)`` or ``check(isGood:)``.
        case ask
        /// This event sets the server aside.
        case setAside
        /// This event restores the server.
        case takeBack
    }

    /// A server that is at fault for failures.
    private struct Aside: Sendable, Hashable {
        let since: Timestamp
        /// Whether trying the server takes long, because it did not respond.
        var isSlow: Bool
        var failures = 1
        /// The time when the gateway checks the server again.
        var due: Timestamp

        init(since: Timestamp, isSlow: Bool) {
            (self.since, self.isSlow) = (since, isSlow)
            due = since.adding(ServerHealth.firstPause)
        }

        mutating func fail(at now: Timestamp) {
            failures = min(failures + 1, 16)
            due = now.adding(min(ServerHealth.firstPause * (1 << (failures - 1)), ServerHealth.longestPause))
        }
    }

    private var evidence = FailureEvidence()
    private var aside: Aside?
    /// The failed requests in the current check; `nil` if no check is in progress.
    private var failedProbes: Int?
    /// The time when a request began to try the server although it is set aside and slow; `nil` if
    /// no request is doing so.
    private var lastChanceBegan: Timestamp?
    /// Whether the server's last health check failed and is being repeated.
    private var isCheckDoubtful = false
    /// Whether the server's last health checks failed. If so, only a successful check can restore
    /// it.
    private var failsChecks = false

    var isAside: Bool { aside != nil || failsChecks }

    /// Whether there is no evidence against the server.
    var isIdle: Bool { !isAside && evidence.isIdle }

    /// Returns whether a request may go to the server.
    ///
    /// - Parameter asked: called only after a recent failure.
    func availability(for asked: () -> AskedTarget, at now: Timestamp) -> Availability {
        if isAside { return .aside }
        return !evidence.isIdle && evidence.refuses(asked(), at: now) ? .aside : .available
    }

    /// Begins a check whether the server is back, if one is due. If this returns `true`, the caller
    /// must perform the check.
    mutating func beginLook(at now: Timestamp) -> Bool {
        guard let aside, failedProbes == nil, now >= aside.due else { return false }
        failedProbes = 0
        return true
    }

    /// Whether a request that already has another server's error may try this server, which is set
    /// aside.
    ///
    /// Only one request at a time tries a slow server. ``endLastChance()`` lets the next request
    /// try it.
    mutating func beginLastChance(at now: Timestamp) -> Bool {
        guard aside?.isSlow == true else { return true }
        if let began = lastChanceBegan, now < began.adding(Self.lastChance) { return false }
        lastChanceBegan = now
        return true
    }

    mutating func endLastChance() { lastChanceBegan = nil }

    // MARK: Events

    /// Records a response to a client's request.
    mutating func succeed(_ asked: () -> AskedTarget, at now: Timestamp) -> Step {
        guard !isIdle else { return .none }
        let wasAside = isAside
        evidence.succeeded(asked(), blamed: aside?.since, at: now)
        (aside, failedProbes, lastChanceBegan) = (nil, nil, nil)
        return wasAside && !isAside ? .takeBack : .none
    }

    /// Records a failure of a client's request.
    ///
    /// - Parameter isSlow: whether the failure used up the request's time.
    mutating func fail(
        _ asked: AskedTarget,
        _ failure: FailureEvidence.Failure,
        isSlow: Bool,
        at now: Timestamp
    ) -> Step {
        let isBlamed = aside != nil
        switch evidence.failed(asked, failure, threshold: Self.threshold, isBlamed: isBlamed, at: now) {
        case .nothing:
            if isSlow { aside?.isSlow = true }
            return .none
        case .confirm:
            failedProbes = 0
            return .ask
        case .blame: return setAside(isSlow: isSlow, at: now)
        }
    }

    /// Records the result of one of the gateway's own requests.
    mutating func probed(_ asked: AskedTarget, isGood: Bool, at now: Timestamp) -> Step {
        guard let failed = failedProbes else { return .none }
        if isGood { return succeed({ asked }, at: now) }
        let judgement = evidence.confirmationFailed()
        guard failed + 1 >= FailureEvidence.confirmations else {
            failedProbes = failed + 1
            return .ask
        }
        failedProbes = nil
        if judgement == .blame { return setAside(isSlow: false, at: now) }
        aside?.fail(at: now)
        return .none
    }

    private mutating func setAside(isSlow: Bool, at now: Timestamp) -> Step {
        let wasAside = isAside
        aside = Aside(since: now, isSlow: isSlow)
        failedProbes = nil
        return wasAside ? .none : .setAside
    }

    /// Records the result of a health check. A failed check is repeated immediately, because a
    /// single check may be lost on the way. A successful check restores a server that failed checks
    /// had set aside. It does not restore a server whose requests failed, because such a server may
    /// answer only the check.
    mutating func check(isGood: Bool) -> Step {
        let wasAside = isAside
        if isGood {
            if failsChecks { (aside, failedProbes) = (nil, nil) }
            (failsChecks, isCheckDoubtful) = (false, false)
        } else if failsChecks || isCheckDoubtful {
            (failsChecks, isCheckDoubtful) = (true, false)
        } else {
            isCheckDoubtful = true
            return .ask
        }
        return wasAside == isAside ? .none : isAside ? .setAside : .takeBack
    }
}

extension Timestamp {
    /// Converts a deadline to milliseconds of the event loops' monotonic clock.
    init(_ deadline: NIODeadline) { self.init(milliseconds: Int64(deadline.uptimeNanoseconds / 1_000_000)) }
}
