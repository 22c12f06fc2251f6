import HTTPCacheSemantics
import HoldfastTesting

@testable import FleetTier
@testable import HTTPCache
@testable import HoldfastGateway
@testable import OfflineStore
@testable import OriginConnections
@testable import RedisTier

/// The breaker of an origin.
struct BreakerDecision: FailureDecision {
    static let name = "breaker"
    static let failingTargetLimit = 1000
    private let options = BreakerOptions()
    private var breaker = Breaker()
    private var due: Timestamp?

    init() {}

    mutating func admits(_ asked: AskedTarget, at now: Timestamp) -> Bool {
        breaker.verdict(for: asked, at: now) == .reachable || breaker.admit(asked, at: now)
    }

    mutating func ended(_ asked: AskedTarget, _ failure: FailureEvidence.Failure?, isOwn: Bool, at now: Timestamp) {
        guard let failure else {
            _ = breaker.answered(asked, at: now)
            return
        }
        _ = breaker.failed(asked, failure, options, at: now)
        if isOwn { _ = breaker.probeFailed(at: now) }
    }

    mutating func ownRequest(at now: Timestamp, _ random: inout SeededRandom) -> AskedTarget? {
        guard let pause = breaker.backOff(options, jitter: random.fraction()) else {
            due = nil
            return nil
        }
        let due = pause == .zero ? now : self.due ?? now.adding(pause)
        guard due <= now else {
            self.due = due
            return nil
        }
        self.due = nil
        return ownTargets.first { !breaker.isFailing(target: $0.target) }
            ?? ownTargets[breaker.probeCount % ownTargets.count]
    }
}

/// The health of a server of an origin, by clients' requests.
struct HealthDecision: FailureDecision {
    static let name = "health of a server"
    static let failingTargetLimit = 1000
    private var health = ServerHealth()
    /// The number of the own request that is due.
    private var question: Int?

    init() {}

    mutating func admits(_ asked: AskedTarget, at now: Timestamp) -> Bool {
        if health.beginLook(at: now) { question = 0 }
        return health.availability(for: { asked }, at: now) == .available
    }

    mutating func ended(_ asked: AskedTarget, _ failure: FailureEvidence.Failure?, isOwn: Bool, at now: Timestamp) {
        let step: ServerHealth.Step
        if isOwn {
            step = health.probed(asked, isGood: failure == nil, at: now)
            if step == .ask { question = 1 }
            return
        }
        step =
            failure.map { health.fail(asked, $0, isSlow: $0 == .silence, at: now) }
            ?? health.succeed({ asked }, at: now)
        if step == .ask { question = 0 }
    }

    mutating func ownRequest(at now: Timestamp, _ random: inout SeededRandom) -> AskedTarget? {
        question.take().map { ownTargets[$0] }
    }
}

/// The health of a server of an origin, by its health checks.
struct CheckDecision: FailureDecision {
    static let name = "health checks"
    static let failingTargetLimit = 1000
    private var health = ServerHealth()
    private var due = Timestamp.distantPast

    init() {}

    mutating func admits(_ asked: AskedTarget, at now: Timestamp) -> Bool {
        health.availability(for: { asked }, at: now) == .available
    }

    mutating func ended(_ asked: AskedTarget, _ failure: FailureEvidence.Failure?, isOwn: Bool, at now: Timestamp) {
        guard isOwn else { return }
        due = health.check(isGood: failure == nil) == .ask ? now : now.adding(.seconds(1))
    }

    mutating func ownRequest(at now: Timestamp, _ random: inout SeededRandom) -> AskedTarget? {
        now >= due ? ownTargets[0] : nil
    }
}

/// The breaker in front of Redis. Replies come in the order of the commands: a command that fails
/// by itself has an error as its reply, and one that is slow by itself has its reply late.
struct SupervisorDecision: FailureDecision {
    static let name = "breaker of Redis"
    static let failingTargetLimit = 1000
    private var machine = SupervisorMachine(SupervisorPolicy())

    init() {
        _ = machine.nextStep(at: .zero)
        machine.connected(at: .zero)
    }

    private func time(_ now: Timestamp) -> Duration { .milliseconds(now.milliseconds) }

    mutating func admits(_ asked: AskedTarget, at now: Timestamp) -> Bool { machine.state == .ready }

    mutating func ended(_ asked: AskedTarget, _ failure: FailureEvidence.Failure?, isOwn: Bool, at now: Timestamp) {
        if isOwn {
            if failure == nil {
                machine.probeSucceeded()
            } else {
                machine.probeFailed(at: time(now), jitter: 0.5)
            }
            return
        }
        if failure == .silence { machine.timedOut(at: time(now), jitter: 0.5) }
        machine.replied()
    }

    mutating func ownRequest(at now: Timestamp, _ random: inout SeededRandom) -> AskedTarget? {
        machine.nextStep(at: time(now)) == .probe ? ownTargets[0] : nil
    }
}

/// The breaker in front of shared responses.
struct ValueDecision: FailureDecision {
    static let name = "breaker of shared responses"
    // It asks for nothing of its own, so it cannot tell more of them from an engine that is gone.
    static let failingTargetLimit = 3
    private let breaker = ValueBreaker()

    init() {}

    mutating func admits(_ asked: AskedTarget, at now: Timestamp) -> Bool { breaker.admits(at: now) }

    mutating func ended(_ asked: AskedTarget, _ failure: FailureEvidence.Failure?, isOwn: Bool, at now: Timestamp) {
        if failure == nil { breaker.succeeded() } else { breaker.failed(asked.target, at: now) }
    }
}

/// The trouble of a disk: responses of a megabyte cannot be written, those of 64 KiB can.
struct DiskDecision<Free: FreeBytes>: FailureDecision {
    static var name: String { "writing trouble, \(Free.bytes.map { "\($0)" } ?? "unknown") bytes free" }
    static var failingTargetLimit: Int { 1000 }
    private var trouble = WritingTrouble()

    init() {}

    private func isLarge(_ asked: AskedTarget) -> Bool { asked.target < 1_000_000 }

    mutating func admits(_ asked: AskedTarget, at now: Timestamp) -> Bool {
        let bytes: Int64 = isLarge(asked) ? 1 << 20 : 64 << 10
        switch trouble.admit(bytes: bytes, free: Free.bytes, at: now) {
        case .accept: return true
        case .decline(let bytes):
            if let bytes { trouble.recordFailure(bytes: bytes, free: Free.bytes, at: now) }
            return false
        }
    }

    mutating func ended(_ asked: AskedTarget, _ failure: FailureEvidence.Failure?, isOwn: Bool, at now: Timestamp) {
        if isLarge(asked) {
            trouble.recordFailure(bytes: 1 << 20, free: Free.bytes, at: now)
        } else {
            trouble.recordSuccess(bytes: 64 << 10)
        }
    }
}

/// The free bytes that the file system reports.
protocol FreeBytes { static var bytes: Int64? { get } }
/// A disk that has room for short responses.
enum LittleRoom: FreeBytes { static let bytes: Int64? = 1 << 20 }
/// A quota that the file system does not report.
enum Quota: FreeBytes { static let bytes: Int64? = 1 << 40 }
/// A file system that says nothing.
enum UnknownRoom: FreeBytes { static let bytes: Int64? = nil }
