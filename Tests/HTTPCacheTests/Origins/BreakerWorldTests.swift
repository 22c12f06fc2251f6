import HTTPCacheSemantics
import HoldfastTesting
import Testing

@testable import HTTPCache

/// The cost of a breaker: for honest clients of a reachable origin, and for an unreachable origin.
/// docs/decisions/0007
@Suite(.timeLimit(.minutes(20))) struct BreakerWorldTests {
    /// Clients that request each target only once.
    private static func honest(_ perSecond: Double) -> BreakerWorld.Clients {
        BreakerWorld.Clients(perSecond: perSecond) { random in
            let number = Int(truncatingIfNeeded: random.next() >> 2) + 1000
            return AskedTarget(target: number, request: number)
        }
    }

    /// Runs a world with several seeds, and compares the total loss with one percent.
    private static func expectOnePercent(
        _ name: String,
        milliseconds: Int64,
        _ clients: [BreakerWorld.Clients],
        _ origin: @escaping (AskedTarget, Int64, inout SeededRandom) -> BreakerWorld.Response,
        each: (BreakerWorld, UInt64) -> Void = { _, _ in }
    ) {
        var (lost, answerable) = (0, 0)
        for seed in 1...2 as ClosedRange<UInt64> {
            var world = BreakerWorld(seed: seed, clients: clients, origin: origin)
            world.run(milliseconds: milliseconds)
            lost += world.lost
            answerable += world.answerable
            each(world, seed)
        }
        #expect(answerable > 0 && lost * 100 <= answerable, "\(name): lost \(lost) of \(answerable)")
    }

    /// How bad targets fail, how many there are, and the rate of other requests.
    struct Bad: Sendable, CustomTestStringConvertible {
        var targets: Int
        var failure: Breaker.Failure
        var delay: Int64
        var honestPerSecond: Double
        var testDescription: String { "\(targets) bad, \(failure) after \(delay) ms, \(honestPerSecond)/s honest" }
    }

    static let bad: [Bad] = [1, 2, 3, 5, 1000].flatMap { targets in
        [Breaker.Failure.hangUp, .silence].flatMap { failure in
            [(1, 20.0), (1, 2), (500, 20)].map {
                Bad(targets: targets, failure: failure, delay: $0.0, honestPerSecond: $0.1)
            }
        }
    }

    /// If bad targets hang up, the others lose nothing: an origin that answers a probe is never
    /// treated as unreachable.
    ///
    /// Mutant: `breaker-asks-for-one-thing-else`.
    @Test(arguments: bad) func failingTargetsCostHealthyOnesNothing(_ bad: Bad) {
        let attackers = BreakerWorld.Clients(
            perSecond: 200,
            target: { random in
                // The first of them is the target that probes would request.
                let number = Int(random.next() % UInt64(bad.targets)) - 1
                return AskedTarget(target: number == -1 ? -1 : number + 1, request: number)
            },
            isHonest: false
        )
        Self.expectOnePercent(
            bad.testDescription,
            milliseconds: bad.honestPerSecond < 10 || bad.targets > 100 ? 300_000 : 100_000,
            [attackers, Self.honest(bad.honestPerSecond)],
            { asked, _, _ in
                asked.target >= 1000 || asked.target == -2
                    ? .success(after: 5) : .failure(bad.failure, after: bad.delay)
            },
            each: { world, seed in
                if bad.failure == .hangUp { #expect(world.lost == 0, "seed \(seed): lost \(world.lost)") }
                guard bad.targets == 1 else { return }
                // Three times, and then once in 8 seconds.
                let asked = world.sent.count { $0.asked.target == -1 && !$0.isProbe }
                #expect(asked <= 50, "seed \(seed): the bad target was asked for \(asked) times")
            }
        )
    }

    /// The requests until the origin is treated as unreachable, and the cost after that.
    @Test(arguments: [Breaker.Failure.connection, .hangUp, .silence], [1, 2, 1000])
    func goneOriginCostsThreeRequests(_ failure: Breaker.Failure, targets: Int) {
        for seed in 1...5 as ClosedRange<UInt64> {
            let clients = BreakerWorld.Clients(perSecond: 200) { random in
                let number = Int(random.next() % UInt64(targets))
                return AskedTarget(target: number, request: number)
            }
            var world = BreakerWorld(seed: seed, clients: [clients]) { _, now, _ in
                now < 5000 ? .success(after: 0) : .failure(failure, after: 0)
            }
            world.run(milliseconds: 5000)
            let before = world.sent.count
            world.run(milliseconds: 400)
            let first = world.sent[before...]
            let firstOfClients = first.count { !$0.isProbe }
            #expect(firstOfClients <= 3, "seed \(seed): \(firstOfClients) requests of clients")
            world.run(milliseconds: 59_600)
            let rest = world.sent[before...].dropFirst(first.count)
            // One a second from clients, and the probes: after half a second, 1, 2, 4, 8, 16 …
            #expect(rest.count { !$0.isProbe } <= 60, "seed \(seed)")
            #expect(rest.count { $0.isProbe } <= 8, "seed \(seed)")
        }
    }

    /// An origin that hangs up on everything is known after three failed requests and two failed
    /// probes, however many requests are under way.
    @Test(arguments: [20.0, 200, 2000])
    func originThatHangsUpIsUnreachableWithinMilliseconds(perSecond: Double) {
        for seed in 1...5 as ClosedRange<UInt64> {
            var world = BreakerWorld(seed: seed, clients: [Self.honest(perSecond)]) { _, now, _ in
                now < 5000 ? .success(after: 2) : .failure(.hangUp, after: 2)
            }
            world.run(milliseconds: 5000)
            let before = world.sent.count
            world.run(milliseconds: 400)
            #expect(world.breaker.isOpen, "seed \(seed)")
            // Besides the three, those that come within six milliseconds; and of 3 in a row, the
            // last of a pair.
            let requests = world.sent[before...].count { !$0.isProbe }
            #expect(Double(requests) <= 5 + perSecond / 80, "seed \(seed): \(requests) requests of clients")
        }
    }

    /// A silent origin keeps only the first three requests waiting.
    @Test func silentOriginIsUnreachableAfterThirdTimeout() {
        for seed in 1...5 as ClosedRange<UInt64> {
            var world = BreakerWorld(seed: seed, clients: [Self.honest(20)]) { _, _, _ in
                .failure(.silence, after: 5000)
            }
            world.run(milliseconds: 5000 + 400)
            #expect(world.breaker.isOpen, "seed \(seed)")
        }
    }

    /// A returning origin is found within about a second if clients request what is not stored.
    ///
    /// Mutant: `breaker-tries-with-probes-only`.
    @Test(arguments: [Breaker.Failure.connection, .hangUp, .silence], [1000, 20_000, 120_000] as [Int64])
    func returningOriginIsFoundWithinASecond(_ failure: Breaker.Failure, outage: Int64) {
        for seed in 1...10 as ClosedRange<UInt64> {
            var world = BreakerWorld(seed: seed, clients: [Self.honest(20)]) { _, now, _ in
                now < outage ? .failure(failure, after: 1) : .success(after: 5)
            }
            world.run(milliseconds: outage)
            world.run(milliseconds: 1500)
            #expect(!world.breaker.isOpen, "seed \(seed): open 1.5 s after its return")
        }
    }

    @Test(arguments: [Breaker.Failure.connection, .hangUp, .silence])
    func flickeringOriginLosesOnePercent(_ failure: Breaker.Failure) {
        // Reachable for a minute, gone for ten seconds.
        Self.expectOnePercent("comes and goes", milliseconds: 700_000, [Self.honest(50)]) { _, now, _ in
            now % 70_000 < 60_000 ? .success(after: 5) : .failure(failure, after: 1)
        }
    }

    /// One address of two is dead: every second connection fails, by chance.
    ///
    /// Mutant: `breaker-never-doubts`.
    @Test(arguments: [2.0, 20, 50, 400]) func halfFailingConnectionsLoseOnePercent(perSecond: Double) {
        Self.expectOnePercent(
            "\(perSecond)/s",
            milliseconds: Int64(15_000_000 / perSecond),
            [Self.honest(perSecond)]
        ) { _, _, random in
            random.fraction() < 0.5 ? .failure(.connection, after: 1) : .success(after: 5)
        }
    }

    /// Doubt costs a dead origin only these few requests more.
    @Test func goneOriginCostsTwentyConnectionsAfterFlickering() {
        for seed in 1...5 as ClosedRange<UInt64> {
            var world = BreakerWorld(seed: seed, clients: [Self.honest(100)]) { _, now, random in
                now >= 60_000 || random.fraction() < 0.5 ? .failure(.connection, after: 0) : .success(after: 0)
            }
            world.run(milliseconds: 60_000)
            let before = world.sent.count
            world.run(milliseconds: 400)
            #expect(world.sent.count - before <= 20, "seed \(seed)")
            #expect(world.breaker.isOpen)
        }
    }
}
