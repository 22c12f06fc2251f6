import HTTPCache
import HTTPCacheSemantics
import HoldfastTesting
import Testing

/// A decision by failures, as a value: whether something is still asked, or written, after parts of
/// it have failed. The same histories are played to each of them.
protocol FailureDecision: Sendable {
    static var name: String { get }
    /// The most targets that may fail at once without a cost to others.
    static var failingTargetLimit: Int { get }

    init()

    /// Whether a request goes where it would go if nothing had failed.
    mutating func admits(_ asked: AskedTarget, at now: Timestamp) -> Bool
    /// A request that was admitted, or one of its own, has ended.
    mutating func ended(_ asked: AskedTarget, _ failure: FailureEvidence.Failure?, isOwn: Bool, at now: Timestamp)
    /// The request of its own that is due, if there is one. It is sent at once, unless one is under
    /// way.
    mutating func ownRequest(at now: Timestamp, _ random: inout SeededRandom) -> AskedTarget?
}

extension FailureDecision {
    mutating func ownRequest(at now: Timestamp, _ random: inout SeededRandom) -> AskedTarget? { nil }
}

/// Two targets that any server can answer, for requests of a decision's own.
let ownTargets = [AskedTarget(target: -1, request: -1), AskedTarget(target: -2, request: -2)]

/// A generated history: clients that ask for a few targets that always fail, and honest ones that
/// ask for targets of their own.
struct FailureHistory: Sendable, CustomTestStringConvertible {
    var seed: UInt64
    var failingTargets: Int
    var failure: FailureEvidence.Failure
    /// Until a failing target fails.
    var delay: Int64
    var failingPerSecond: Double
    var honestPerSecond: Double
    /// The share of healthy requests, those of a decision's own included, that fail by chance.
    var loss: Double

    static let milliseconds: Int64 = 120_000

    var testDescription: String {
        "seed \(seed): \(failingTargets) failing by \(failure) after \(delay) ms, \(failingPerSecond)/s, \(honestPerSecond)/s honest, loss \(loss)"
    }

    /// All histories of a seed.
    static func all(seed: UInt64) -> [FailureHistory] {
        var random = SeededRandom(seed: seed)
        var histories: [FailureHistory] = []
        for targets in [1, 2, 3, 1000] {
            for failure in [FailureEvidence.Failure.hangUp, .silence] {
                for delay in [1, 500] as [Int64] {
                    histories.append(
                        FailureHistory(
                            seed: random.next(),
                            failingTargets: targets,
                            failure: failure,
                            delay: delay,
                            failingPerSecond: 40 + 160 * random.fraction(),
                            honestPerSecond: 5 + 25 * random.fraction(),
                            loss: random.next() % 2 == 0 ? 0 : 0.01
                        )
                    )
                }
            }
        }
        return histories
    }

    /// Plays the history to a decision.
    ///
    /// - Returns: the honest requests that would succeed, and those among them that went elsewhere
    ///   or were rejected.
    func play<Decision: FailureDecision>(_ type: Decision.Type) -> (healthy: Int, lost: Int) {
        var player = Player<Decision>(self)
        return player.play()
    }
}

/// Plays a history, millisecond by millisecond, skipping those in which nothing happens.
private struct Player<Decision: FailureDecision> {
    private struct UnderWay {
        var end: Int64
        var asked: AskedTarget
        var failure: FailureEvidence.Failure?
        var isOwn: Bool
    }

    private let history: FailureHistory
    private var random: SeededRandom
    private var decision = Decision()
    /// The one that ends first comes last.
    private var underWay: [UnderWay] = []
    private var isAsking = false
    private var healthy = 0
    private var lost = 0

    init(_ history: FailureHistory) {
        self.history = history
        random = SeededRandom(seed: history.seed)
    }

    mutating func play() -> (healthy: Int, lost: Int) {
        var (nextFailing, nextHonest) = (0 as Int64, 0 as Int64)
        var now: Int64 = 0
        while now < FailureHistory.milliseconds {
            let timestamp = Timestamp(milliseconds: 1_000_000 + now)
            while let first = underWay.last, first.end <= now {
                underWay.removeLast()
                if first.isOwn { isAsking = false }
                decision.ended(first.asked, first.failure, isOwn: first.isOwn, at: timestamp)
            }
            if !isAsking, let own = decision.ownRequest(at: timestamp, &random) {
                isAsking = true
                send(own, isOwn: true, at: now)
            }
            if nextFailing <= now {
                nextFailing = now + pause(history.failingPerSecond)
                let number = Int(random.next() % UInt64(history.failingTargets))
                ask(AskedTarget(target: number, request: number), at: now)
            }
            if nextHonest <= now {
                nextHonest = now + pause(history.honestPerSecond)
                let number = Int(truncatingIfNeeded: random.next() >> 2) + 1_000_000
                ask(AskedTarget(target: number, request: number), at: now)
            }
            now += 1
        }
        return (healthy, lost)
    }

    private mutating func pause(_ perSecond: Double) -> Int64 {
        max(1, Int64((random.fraction() + random.fraction()) * 1000 / perSecond))
    }

    private func isHealthy(_ asked: AskedTarget) -> Bool { asked.target < 0 || asked.target >= 1_000_000 }

    private mutating func ask(_ asked: AskedTarget, at now: Int64) {
        let isHonest = asked.target >= 1_000_000
        if isHonest { healthy += 1 }
        guard decision.admits(asked, at: Timestamp(milliseconds: 1_000_000 + now)) else {
            if isHonest { lost += 1 }
            return
        }
        // Equal requests share a fetch.
        if !underWay.contains(where: { $0.asked == asked && !$0.isOwn }) { send(asked, isOwn: false, at: now) }
    }

    private mutating func send(_ asked: AskedTarget, isOwn: Bool, at now: Int64) {
        var request = UnderWay(end: now + 5, asked: asked, failure: nil, isOwn: isOwn)
        if !isHealthy(asked) {
            (request.end, request.failure) = (now + history.delay, history.failure)
        } else if random.fraction() < history.loss {
            (request.end, request.failure) = (now + 1, .hangUp)
        }
        let index = underWay.firstIndex { $0.end <= request.end } ?? underWay.endIndex
        underWay.insert(request, at: index)
    }
}

extension SeededRandom {
    /// From 0 to below 1.
    mutating func fraction() -> Double { Double(next() >> 11) / Double(1 << 53) }
}
