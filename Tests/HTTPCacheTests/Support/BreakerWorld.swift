import HTTPCacheSemantics
import HoldfastTesting

@testable import HTTPCache

/// A breaker in front of a simulated origin. Clients send requests, a function decides how the
/// origin behaves, and time passes by the millisecond.
///
/// It uses the breaker as the engine does, and counts the cost.
struct BreakerWorld {
    /// The origin's reaction to one request.
    enum Response {
        case success(after: Int64)
        case failure(Breaker.Failure, after: Int64)
    }

    /// Clients that send requests at a rate.
    struct Clients {
        var perSecond: Double
        /// The next target that they request.
        var target: (inout SeededRandom) -> AskedTarget
        /// Whether their requests are counted.
        var isHonest = true
    }

    private struct UnderWay {
        var end: Int64
        var asked: AskedTarget
        var response: Response
        var isProbe: Bool
    }

    let origin: (AskedTarget, Int64, inout SeededRandom) -> Response
    let clients: [Clients]
    var random: SeededRandom
    private(set) var breaker = Breaker()
    private let options = BreakerOptions()
    private var underWay: [UnderWay] = []
    /// The time of each client's next request.
    private var arrivals: [Int64]
    private var nextProbe: Int64?
    private var isProbing = false
    private var lastUnconnected: AskedTarget?
    private(set) var now: Int64 = 0

    /// Honest requests that the origin would have answered, and the rejected ones among them.
    private(set) var answerable = 0
    private(set) var lost = 0
    /// The times of the requests to the origin, including probes.
    private(set) var sent: [(time: Int64, isProbe: Bool, asked: AskedTarget)] = []

    init(
        seed: UInt64,
        clients: [Clients],
        origin: @escaping (AskedTarget, Int64, inout SeededRandom) -> Response
    ) {
        random = SeededRandom(seed: seed)
        self.clients = clients
        self.origin = origin
        arrivals = clients.map { _ in 0 }
        for index in clients.indices { arrivals[index] = pause(of: clients[index]) }
    }

    private var timestamp: Timestamp { Timestamp(milliseconds: 1_000_000 + now) }

    private mutating func pause(of clients: Clients) -> Int64 {
        let mean = 1000 / clients.perSecond
        // The rate is right on average, and most milliseconds have no request.
        return Int64((random.fraction() + random.fraction()) * mean + random.fraction())
    }

    /// The requests that any origin can answer.
    static let probes = [AskedTarget(target: -1, request: -1), AskedTarget(target: -2, request: -2)]

    mutating func run(milliseconds: Int64) {
        let end = now + milliseconds
        while true {
            planProbe()
            var next = arrivals.min() ?? end
            for request in underWay { next = min(next, request.end) }
            if let nextProbe { next = min(next, nextProbe) }
            guard next < end else {
                now = end
                return
            }
            now = max(now, next)
            complete()
            planProbe()
            if let nextProbe, nextProbe <= now { probe() }
            for index in clients.indices {
                while arrivals[index] <= now {
                    arrivals[index] += max(1, pause(of: clients[index]))
                    ask(clients[index].target(&random), isHonest: clients[index].isHonest)
                }
            }
        }
    }

    private mutating func ask(_ asked: AskedTarget, isHonest: Bool) {
        let response = origin(asked, now, &random)
        var isAnswerable = false
        if case .success = response { isAnswerable = isHonest }
        if isAnswerable { answerable += 1 }
        if breaker.verdict(for: asked, at: timestamp) != .reachable, !breaker.admit(asked, at: timestamp) {
            if isAnswerable { lost += 1 }
            return
        }
        // Equal requests share a fetch.
        if !underWay.contains(where: { $0.asked == asked && !$0.isProbe }) { send(asked, response, isProbe: false) }
    }

    private mutating func send(_ asked: AskedTarget, _ response: Response, isProbe: Bool) {
        sent.append((now, isProbe, asked))
        let delay =
            switch response {
            case .success(let delay), .failure(_, let delay): delay
            }
        underWay.append(UnderWay(end: now + delay, asked: asked, response: response, isProbe: isProbe))
    }

    private mutating func complete() {
        let ended = underWay.filter { $0.end <= now }
        if !ended.isEmpty { underWay.removeAll { $0.end <= now } }
        for request in ended {
            // The probe was ended: another request had a response at the same moment.
            if request.isProbe, !isProbing { continue }
            switch request.response {
            case .success:
                _ = breaker.answered(request.asked, at: timestamp)
                underWay.removeAll { $0.isProbe }
                isProbing = false
                nextProbe = nil
            case .failure(let failure, _):
                if failure == .connection, !request.isProbe { lastUnconnected = request.asked }
                _ = breaker.failed(request.asked, failure, options, at: timestamp)
                guard request.isProbe else { continue }
                isProbing = false
                nextProbe = nil
                _ = breaker.probeFailed(at: timestamp)
            }
        }
    }

    private mutating func planProbe() {
        guard let backOff = breaker.backOff(options, jitter: random.fraction()) else {
            nextProbe = nil
            return
        }
        if isProbing { return }
        if backOff == .zero { nextProbe = now }
        if nextProbe == nil { nextProbe = now + backOff.clampedMilliseconds }
    }

    /// Sends the probe that the registry would send.
    private mutating func probe() {
        let other =
            Self.probes.first { !breaker.isFailing(target: $0.target) }
            ?? Self.probes[breaker.probeCount % Self.probes.count]
        let asked = breaker.probesAnotherTarget ? other : lastUnconnected ?? other
        nextProbe = nil
        isProbing = true
        send(asked, origin(asked, now, &random), isProbe: true)
    }
}

extension SeededRandom {
    /// From 0 to below 1.
    mutating func fraction() -> Double { Double(next() >> 11) / Double(1 << 53) }
}
