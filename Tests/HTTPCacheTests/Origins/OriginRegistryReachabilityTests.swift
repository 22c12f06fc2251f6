import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

@testable import HTTPCache

/// Which origins are treated as unreachable, and how they are probed, without an engine.
/// ``BreakerTests`` shows when one origin is.
@Suite(.timeLimit(.minutes(20))) struct OriginRegistryReachabilityTests {
    private let registry = OriginRegistry(options: EngineOptions())
    private let origin: Origin
    private let start = Timestamp(seconds: 1000)

    init() throws { origin = try Self.origin("a") }

    private static func origin(_ name: String) throws -> Origin { Origin(try TargetURI("https://\(name).example/")) }

    private static func target(_ number: Int) -> AskedTarget { AskedTarget(target: number, request: number) }

    private func request(_ path: String) -> CacheRequest {
        CacheRequest(head: HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: path))
    }

    @discardableResult
    private func fail(
        _ origin: Origin? = nil,
        _ target: Int = 1,
        by failure: Breaker.Failure = .connection,
        probe: CacheRequest? = nil,
        isUnknownName: Bool = false,
        startProbing: () -> Task<Void, Never> = { Task {} }
    ) -> Bool {
        let origin = origin ?? self.origin
        return registry.failed(
            origin,
            Self.target(target),
            failure,
            probe: probe,
            isUnknownName: isUnknownName,
            at: start,
            startProbing: startProbing
        )
    }

    private func verdict(_ target: Int = 1, _ origin: Origin? = nil) -> Breaker.Verdict {
        registry.verdict(origin ?? self.origin, { Self.target(target) }, at: start)
    }

    private func answer(_ target: Int = 1, _ origin: Origin? = nil, at now: Timestamp? = nil) -> Bool {
        let now = now ?? start
        return registry.answered(origin ?? self.origin, { Self.target(target) }, at: { now })
    }

    private func enterIfReachable(_ target: Int, at now: Timestamp? = nil) -> Bool {
        let now = now ?? start
        return registry.enterIfFree(origin, .none) { $0.verdict(for: Self.target(target), at: now) == .reachable }
    }

    // MARK: Conditions

    @Test func conditionSaysSinceWhenAnOriginIsUnreachable() {
        #expect(registry.conditions.isEmpty)
        _ = registry.enterIfFree(origin, .none)
        var expected = OriginCondition(origin: "https://a.example")
        expected.inFlight = 1
        #expect(registry.conditions == [expected])
        registry.willProbe(origin, at: start)
        #expect(registry.conditions.first?.nextProbe == nil, "no probe is sent to a reachable origin")
        fail()
        registry.willProbe(origin, at: start.adding(.seconds(2)))
        _ = registry.probeFailed(origin, at: start.adding(.seconds(2)))
        expected.reachability = .unreachable
        expected.since = start
        expected.nextProbe = start.adding(.seconds(2))
        expected.failedProbes = 1
        #expect(registry.conditions == [expected])
        #expect(answer())
        #expect(registry.conditions.first?.reachability == .reachable && registry.conditions.first?.since == nil)
    }

    /// Mutant: the cause outlasts the outage.
    @Test func conditionStatesTheLastCauseUntilTheOriginResponds() {
        let refused = FailureCause(reason: "refused", message: "one")
        let untrusted = FailureCause(reason: "unknown-authority", message: "two")
        #expect(!registry.noteCause(refused, of: origin, at: start), "the origin has not failed")
        fail()
        #expect(registry.noteCause(refused, of: origin, at: start))
        fail()
        #expect(registry.noteCause(untrusted, of: origin, at: start))
        #expect(!registry.noteCause(untrusted, of: origin, at: start))
        #expect(registry.conditions.first?.cause == untrusted && registry.cause(of: origin) == untrusted)
        #expect(answer())
        #expect(registry.conditions.allSatisfy { $0.cause == nil } && registry.cause(of: origin) == nil)
    }

    /// Such an origin is kept although it has no requests in progress.
    @Test func reachableOriginStatesWhyItsLastRequestFailed() {
        let invalid = FailureCause(reason: "protocol-violation", message: "one")
        #expect(registry.noteFailure(invalid, of: origin, at: start))
        #expect(!registry.noteFailure(invalid, of: origin, at: start))
        var expected = OriginCondition(origin: "https://a.example")
        expected.cause = invalid
        expected.lastFailure = OriginCondition.Failure(cause: invalid, at: start)
        #expect(registry.conditions == [expected] && verdict() == .reachable)
        _ = registry.enterIfFree(origin, .none)
        expected.inFlight = 1
        #expect(registry.conditions == [expected])
        fail()
        #expect(registry.noteCause(FailureCause(reason: "refused", message: "two"), of: origin, at: start))
        #expect(registry.conditions.first?.cause?.reason == "refused")
        _ = registry.noteFailure(invalid, of: origin, at: start)
        #expect(registry.conditions.first?.cause == invalid && registry.isOpen(origin))
        #expect(answer() && registry.conditions.allSatisfy { $0.cause == nil })
        #expect(registry.conditions.first?.lastFailure?.cause == invalid, "a success hides no failure")
        _ = registry.noteFailure(invalid, of: origin, at: start)
        registry.forget(origin, at: start)
        #expect(registry.conditions.allSatisfy { $0.cause == nil && $0.lastFailure == nil })
    }

    // MARK: Verdicts

    /// Nothing is computed for an origin without failures, which is the usual case.
    @Test func unknownOriginIsReachable() {
        let asked: @Sendable () -> AskedTarget = {
            Issue.record("The target's hash is not needed.")
            return Self.target(1)
        }
        let verdict = registry.verdict(origin, asked, at: start)
        let wasUnreachable = registry.answered(origin, asked, at: { start })
        let hasEntered = registry.enterIfFree(origin, .none) { $0.verdict(for: asked(), at: start) == .reachable }
        #expect(verdict == .reachable && !wasUnreachable && hasEntered)
        #expect(!registry.isOpen(origin) && registry.nextProbe(origin, jitter: 1) == nil)
        #expect(registry.admits(origin, Self.target(1), at: start))
        #expect(registry.wouldAdmit(origin, Self.target(1), at: start))
        #expect(!registry.probeFailed(origin, at: start) && !registry.forget(origin, at: start))
        #expect(registry.probe(origin, among: [(request("/"), 1)]) == nil)
    }

    @Test func onlyTheFailureThatOpensTheBreakerSaysSo() throws {
        #expect(fail())
        #expect(!fail() && !fail(nil, 2))
        #expect(registry.isOpen(origin) && verdict() == .unreachable && verdict(2) == .unreachable)
        #expect(verdict(1, try Self.origin("b")) == .reachable)
    }

    @Test func openBreakerKeepsPlacesFree() {
        fail()
        #expect(!enterIfReachable(1) && !enterIfReachable(2))
        #expect(registry.enterIfFree(origin, .none), "a request that is let through all the same gets a place")
        #expect(answer())
        #expect(enterIfReachable(1))
    }

    @Test func failingTargetIsRejectedAndOthersAreSent() {
        for _ in 0..<3 { #expect(!fail(by: .hangUp)) }
        #expect(verdict(1) == .failing && verdict(2) == .reachable)
        #expect(!enterIfReachable(1) && enterIfReachable(2))
        #expect(enterIfReachable(1, at: start.adding(.seconds(1))))
    }

    /// An open breaker lets one request in a second through that nothing stored can answer.
    @Test func thirtyCallersShareOneTry() async {
        fail()
        func admitted(at now: Timestamp) async -> Int {
            await withTaskGroup { group in
                for number in 0..<30 {
                    group.addTask { registry.admits(origin, Self.target(100 + number), at: now) }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
        }
        #expect(registry.wouldAdmit(origin, Self.target(100), at: start))
        #expect(await admitted(at: start) == 1)
        #expect(!registry.wouldAdmit(origin, Self.target(100), at: start.adding(.milliseconds(999))))
        #expect(await admitted(at: start.adding(.seconds(1))) == 1)
    }

    @Test func oneOfThirtyResponsesEndsTheOutage() async {
        fail()
        let ended = await withTaskGroup { group in
            for number in 0..<30 { group.addTask { answer(number) } }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(ended == 1)
        #expect(!registry.isOpen(origin))
    }

    @Test func outagesAreMeasured() throws {
        let other = try Self.origin("other")
        func numbers(at seconds: Int64) -> [OriginNumbers] {
            registry.numbers(with: ["https://idle.example"], at: start.adding(.seconds(seconds)))
        }
        fail()
        #expect(numbers(at: 3).map(\.label) == ["https://a.example", "https://idle.example"])
        #expect(numbers(at: 3).map(\.outageMilliseconds) == [3000, 0])
        #expect(numbers(at: 3).map(\.isUp) == [false, true])
        #expect(answer(at: start.adding(.seconds(5))))
        // It has ended, and does not continue.
        #expect(numbers(at: 100).map(\.outageMilliseconds) == [5000, 0])
        #expect(!numbers(at: 100).contains { !$0.isUp })
        fail(other)
        #expect(registry.forget(other, at: start.adding(.seconds(2))))
        #expect(numbers(at: 100).map(\.outageMilliseconds) == [5000, 0, 2000])
        // A clock that was set back makes no outage shorter.
        fail()
        #expect(numbers(at: -100)[0].outageMilliseconds == 5000)
    }

    @Test func outagesThatAreOverAreRemembered() {
        #expect(registry.endedOutages.isEmpty)
        fail()
        #expect(registry.endedOutages.isEmpty && answer(at: start.adding(.milliseconds(30))))
        #expect(!answer(at: start.adding(.seconds(1))))
        let end = start.adding(.milliseconds(30))
        let outage = OriginOutage(number: 1, origin: "https://a.example", since: start, until: end)
        #expect(registry.endedOutages == [outage])
        for _ in 0..<200 {
            fail()
            registry.forget(origin, at: start)
        }
        #expect(registry.endedOutages.count == OriginRegistry.endedLimit)
        #expect(registry.endedOutages.last?.number == 201 && registry.endedOutages.first?.number == 138)
    }

    /// The breaker opens, and no report says so. Mutants: `mistyped-names-begin-outages`,
    /// `unknown-names-are-measured`, `unknown-names-that-respond-end-an-outage`.
    @Test func unknownNameIsNoOutage() {
        #expect(!fail(isUnknownName: true) && !fail(isUnknownName: true))
        #expect(registry.isOpen(origin) && !registry.hasOutage(origin) && verdict() == .unreachable)
        #expect(registry.conditions.map(\.reachability) == [.unresolved])
        #expect(!registry.noteCause(FailureCause(reason: "one", message: "one"), of: origin, at: start))
        let numbers = registry.numbers(with: [], at: start.adding(.seconds(3)))
        #expect(numbers == [OriginNumbers(label: "https://a.example")])
        #expect(!answer(at: start.adding(.seconds(5))), "no outage has ended")
        #expect(!registry.isOpen(origin) && registry.endedOutages.isEmpty)
        #expect(registry.numbers(with: [], at: start.adding(.seconds(6))).allSatisfy { $0.outageMilliseconds == 0 })
    }

    @Test func unknownNameThatFailsOtherwiseIsAnOutage() {
        #expect(!fail(isUnknownName: true))
        #expect(fail() && !fail())
        #expect(registry.conditions.map(\.reachability) == [.unreachable])
        #expect(answer(at: start.adding(.seconds(5))) && registry.endedOutages.count == 1)
    }

    /// Mutant: `unknown-name-ends-an-outage`.
    @Test func outageLastsWhenTheNameNoLongerResolves() {
        #expect(fail() && !fail(isUnknownName: true))
        #expect(registry.hasOutage(origin) && registry.conditions.map(\.reachability) == [.unreachable])
        #expect(answer(at: start.adding(.seconds(5))) && registry.endedOutages.count == 1)
    }

    @Test func sumOfOutagesNeverFalls() throws {
        let labels = OriginLabels(configured: ["http://o"])
        let registry = OriginRegistry(options: EngineOptions(), labels: labels)
        func sums(at seconds: Int64) -> [String: Int64] {
            let numbers = registry.numbers(with: ["http://o"], at: start.adding(.seconds(seconds)))
            return Dictionary(uniqueKeysWithValues: numbers.map { ($0.label, $0.outageMilliseconds) })
        }
        _ = registry.failed(origin, Self.target(1), .connection, probe: nil, at: start) { Task {} }
        #expect(sums(at: 10) == ["http://o": 0, "other": 10_000])
        // The clock is set back.
        #expect(sums(at: 4) == ["http://o": 0, "other": 10_000])
        #expect(sums(at: 6) == ["http://o": 0, "other": 12_000])
        // A reload adds the origin.
        labels.configure(["https://a.example"])
        #expect(sums(at: 9) == ["http://o": 0, "other": 12_000, "https://a.example": 3000])
        let end = start.adding(.seconds(11))
        let hasEnded = registry.answered(origin, { Self.target(1) }, at: { end })
        #expect(hasEnded)
        #expect(sums(at: 20) == ["http://o": 0, "other": 12_000, "https://a.example": 5000])
        // The next outage begins anew.
        _ = registry.failed(origin, Self.target(1), .connection, probe: nil, at: start.adding(.seconds(30))) { Task {} }
        #expect(sums(at: 31) == ["http://o": 0, "other": 12_000, "https://a.example": 6000])
    }

    @Test func originsWithOneLabelAreSummed() throws {
        let labels = OriginLabels(configured: [])
        let registry = OriginRegistry(options: EngineOptions(), labels: labels)
        let (one, two) = (try Self.origin("one"), try Self.origin("two"))
        #expect(registry.enterIfFree(one, .none) && registry.enterIfFree(two, .none))
        _ = registry.failed(two, Self.target(1), .connection, probe: nil, at: start) { Task {} }
        var expected = OriginNumbers(label: OriginLabels.other)
        (expected.isUp, expected.inFlight, expected.outageMilliseconds) = (false, 2, 1000)
        #expect(registry.numbers(with: [], at: start.adding(.seconds(1))) == [expected])
    }

    @Test func forgottenOriginIsReachable() {
        fail()
        #expect(registry.forget(origin, at: start))
        #expect(!registry.forget(origin, at: start))
        #expect(verdict() == .reachable && registry.nextProbe(origin, jitter: 1) == nil)
    }

    /// Places are given back to the same record after its failures are forgotten.
    @Test func forgettingKeepsRequestsUnderWay() {
        #expect(registry.enterIfFree(origin, .none))
        fail()
        #expect(registry.forget(origin, at: start))
        let others = (0..<300).count { _ in registry.enterIfFree(origin, .none) }
        #expect(others == EngineOptions().inFlightLimit - 1)
    }

    @Test func failuresOfTooManyOriginsAreNotRemembered() throws {
        for number in 0..<OriginRegistry.breakerLimit { #expect(fail(try Self.origin("o\(number)"))) }
        let further = try Self.origin("further")
        #expect(!fail(further) && !registry.isOpen(further))
        let known = try Self.origin("o7")
        #expect(!fail(known) && registry.isOpen(known))
        #expect(registry.forget(known, at: start))
        #expect(fail(further) && registry.isOpen(further))
    }

    /// Whatever an origin was asked for, nothing of it stays behind once it has responded.
    @Test func idleOriginsLeaveRoomForFailuresOfOthers() throws {
        for number in 0..<OriginRegistry.breakerLimit {
            let origin = try Self.origin("o\(number)")
            switch number % 4 {
            case 0:
                #expect(registry.enterIfFree(origin, .none))
                registry.leave(origin, .none)
            case 1:
                fail(origin)
                #expect(answer(1, origin, at: start.adding(.seconds(10))))
            case 2:
                let body = try #require(registry.addUnread(origin) {})
                registry.removeUnread(body, origin)
            default:
                fail(origin, 1, by: .hangUp)
                #expect(!registry.forget(origin, at: start))
            }
        }
        #expect(fail())
    }

    // MARK: Probes

    @Test func thirtyFailuresStartOneProbe() async {
        let started = Tally()
        let opened = await withTaskGroup { group in
            for number in 0..<30 {
                group.addTask {
                    fail(nil, number) {
                        started.add()
                        return Task {}
                    }
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(opened == 1 && started.count == 1)
    }

    @Test func failuresBelowTheThresholdStartNoProbe() {
        for _ in 0..<2 {
            fail(by: .silence) {
                Issue.record("There is nothing to confirm yet.")
                return Task {}
            }
        }
        #expect(registry.nextProbe(origin, jitter: 1) == nil)
        let started = Tally()
        fail(by: .silence) {
            started.add()
            return Task {}
        }
        #expect(started.count == 1)
        #expect(registry.nextProbe(origin, jitter: 1) == .zero && !registry.isOpen(origin))
    }

    @Test func confirmationThatFailsOpensTheBreaker() {
        for _ in 0..<3 { fail(by: .hangUp) }
        #expect(!registry.probeFailed(origin, at: start))
        #expect(registry.probeFailed(origin, at: start))
        #expect(!registry.probeFailed(origin, at: start), "it is open already")
        #expect(registry.isOpen(origin))
    }

    @Test func probesComeLessAndLessOften() {
        fail()
        var pauses: [Duration?] = []
        for _ in 0..<3 {
            pauses.append(registry.nextProbe(origin, jitter: 1))
            #expect(!registry.probeFailed(origin, at: start))
        }
        #expect(pauses == [.milliseconds(500), .seconds(1), .seconds(2)])
        #expect(registry.nextProbe(origin, jitter: 0) == .seconds(2))
    }

    @Test(arguments: [true, false]) func responseOrMissingRouteEndsProbing(isResponse: Bool) async {
        let never = Gate()
        let wasCancelled = Tally()
        let probing = Task {
            do { try await never.wait() } catch { wasCancelled.add() }
        }
        fail { probing }
        #expect(isResponse ? answer() : registry.forget(origin, at: start))
        await probing.value
        #expect(wasCancelled.count == 1)
        let isNew = Tally()
        fail {
            isNew.add()
            return Task {}
        }
        // In doubt, one failed connection is not enough to open the breaker again.
        #expect(isNew.count == (isResponse ? 0 : 1))
    }

    @Test func closingEndsProbesAndWaitsForThem() async throws {
        let ended = Tally()
        for name in ["a", "b", "c"] {
            fail(try Self.origin(name)) {
                Task {
                    try? await Gate().wait()
                    for _ in 0..<20 { await Task.yield() }
                    ended.add()
                }
            }
        }
        await registry.close()
        #expect(ended.count == 3)
        let late = try Self.origin("late")
        let opened = fail(late) {
            Issue.record("A closed registry starts no probe.")
            return Task {}
        }
        #expect(!opened && !registry.isOpen(late))
    }

    // MARK: The request of a probe

    @Test func probeRepeatsRequestThatFoundNoConnection() throws {
        var sent = request("/feed")
        sent.client = RequestClient("192.0.2.1")
        sent.onInformational = { _ in }
        fail(probe: sent)
        let probe = try #require(registry.probe(origin, among: [(request("/other"), 2)]))
        #expect(probe.head.path == "/feed")
        #expect(probe.client == .none && probe.onInformational == nil, "no client has anything of it")
        fail(nil, 2, probe: request("/later"))
        #expect(registry.probe(origin, among: [])?.head.path == "/later")
        fail(nil, 3, probe: nil)
        #expect(registry.probe(origin, among: [])?.head.path == "/later", "a POST is not repeated")
    }

    /// After a silent connection the target may be the cause.
    @Test func probeAsksForAnotherTargetIfConnectionWasMade() throws {
        for _ in 0..<3 { fail(nil, 1, by: .hangUp, probe: request("/1")) }
        let others = [(request("/1"), 1), (request("/2"), 2), (request("/3"), 3)]
        #expect(registry.probe(origin, among: others)?.head.path == "/2")
        #expect(registry.probe(origin, among: []) == nil, "a request that was sent is not repeated")
        fail(nil, 2, by: .hangUp)
        fail(nil, 3, by: .hangUp)
        let paths = (0..<4).map { _ in
            let path = registry.probe(origin, among: others)?.head.path
            _ = registry.probeFailed(origin, at: start)
            return path
        }
        #expect(paths == ["/1", "/1", "/1", "/2"], "all have failed, so that they take turns once it is open")
    }

    @Test func authorityOfTheLastFailureIsKept() {
        #expect(registry.authority(for: origin) == nil)
        func fail(_ authority: String?) {
            _ = registry.failed(origin, Self.target(1), .hangUp, probe: nil, authority: authority, at: start) {
                Task {}
            }
        }
        fail("one.example")
        fail("two.example")
        fail(nil)
        #expect(registry.authority(for: origin) == "two.example")
        registry.forget(origin, at: start)
        #expect(registry.authority(for: origin) == nil)
    }

    @Test func reachableOriginIsNotProbed() {
        fail(by: .hangUp, probe: request("/1"))
        #expect(registry.probe(origin, among: [(request("/2"), 2)]) == nil)
    }
}
