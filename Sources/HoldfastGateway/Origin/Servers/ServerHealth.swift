import HTTPCache
import HTTPCacheSemantics
import NIOCore

/// Whether a server of an origin is worth a request, by how the last ones ended. Pure.
///
/// ``FailureEvidence`` decides whether failures are the server's or those of what was asked for. If
/// they are the server's, it is set aside: others are asked before it. After a pause a request of
/// the gateway's own finds out whether it is back. Clients choose what they ask for, so no request
/// of theirs decides that, except by a response. docs/decisions/0053
///
/// Time is in milliseconds of any clock that does not go back.
struct ServerHealth: Sendable, Hashable {
    /// The pause after a first failure. 1 s
    static let firstPause = Duration.seconds(1)
    /// The longest pause. 60 s
    static let longestPause = Duration.seconds(60)
    /// How long a request that has a response already may try a server that is set aside. 2 s
    static let lastChance = Duration.seconds(2)
    /// The failures in a row of which evidence is made.
    private static let threshold = BreakerOptions().failureThreshold

    /// Whether a request may go there.
    enum Availability: Sendable, Hashable {
        case available
        /// Others are asked before it.
        case aside
    }

    /// The next step after an event.
    enum Step: Sendable, Hashable {
        case none
        /// Ask the server for something of the gateway's own, then report it to
        /// ``probed(isGood:at:)`` or ``check(isGood:)``.
        case ask
        /// It is set aside by this event.
        case setAside
        /// It is back by this event.
        case takeBack
    }

    /// A server that is to blame for failures.
    private struct Aside: Sendable, Hashable {
        let since: Timestamp
        /// Whether trying it takes time, because it was silent.
        var isSlow: Bool
        var failures = 1
        /// When the gateway asks it again.
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
    /// The failed requests of the gateway's own in the present look; `nil` if none is under way.
    private var failedProbes: Int?
    /// When a request began to try it although it is set aside and slow; `nil` if none does.
    private var lastChanceBegan: Timestamp?
    /// Whether its last health check failed, and is repeated.
    private var isCheckDoubtful = false
    /// Whether its last health checks failed. Then only the next one can take it back.
    private var failsChecks = false

    var isAside: Bool { aside != nil || failsChecks }

    /// Whether nothing speaks against it.
    var isIdle: Bool { !isAside && evidence.isIdle }

    /// - Parameter asked: called only if there was a failure lately.
    func availability(for asked: () -> AskedTarget, at now: Timestamp) -> Availability {
        if isAside { return .aside }
        return !evidence.isIdle && evidence.refuses(asked(), at: now) ? .aside : .available
    }

    /// Whether the gateway asks now for itself whether it is back. If so, the caller does.
    mutating func beginLook(at now: Timestamp) -> Bool {
        guard let aside, failedProbes == nil, now >= aside.due else { return false }
        failedProbes = 0
        return true
    }

    /// Whether a request that has an error of another server may try this one, which is set aside.
    ///
    /// A slow one is tried by one request at a time. ``endLastChance()`` ends that.
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
    /// - Parameter isSlow: whether it took the request its time.
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

    /// Records the response to a request of the gateway's own, or that none came.
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

    /// Records the result of a health check. One that fails is repeated at once: a single one may
    /// be lost on the way. A good one takes a server back that checks had set aside. One whose
    /// requests failed is not taken back: it may do the check alone.
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
    /// A deadline in milliseconds of the event loops' clock, which does not go back.
    init(_ deadline: NIODeadline) { self.init(milliseconds: Int64(deadline.uptimeNanoseconds / 1_000_000)) }
}
