import HTTPCache
import HTTPCacheSemantics
import Testing

@testable import HoldfastGateway
@testable import OriginConnections

/// The value that decides which server of an origin is asked next.
@Suite(.timeLimit(.minutes(20))) struct FailoverTests {
    private static let get = Failover.Request(isSafe: true, isRepeatable: true)
    private static let put = Failover.Request(isSafe: false, isRepeatable: true)
    private static let post = Failover.Request(isSafe: false, isRepeatable: false)

    private static let own = Failover.Server()
    private static let mirror = Failover.Server(isMirror: true)
    private static let trusted = Failover.Server(isMirror: true, takesCredentials: true)

    private static func aside(_ server: Failover.Server) -> Failover.Server {
        var server = server
        server.availability = .aside
        return server
    }

    /// Which outcomes let a request continue, for each kind of request.
    struct Row: Sendable, CustomTestStringConvertible {
        var outcome: Failover.Outcome
        var get: Bool
        var put: Bool
        var post: Bool
        var testDescription: String { "\(outcome)" }
    }

    private static let faults: [TransportError.Code] = [
        .nameResolution, .connect, .connectTimeout, .timeout, .connectionClosed, .tls, .protocolViolation,
    ]
    private static let notFaults: [TransportError.Code] = [
        .outOfDescriptors, .overloaded, .cancelled, .invalidRequest, .other,
    ]

    static let rows: [Row] =
        faults.map { Row(outcome: .failure($0, isUnsent: false), get: true, put: true, post: false) }
        + faults.map { Row(outcome: .failure($0, isUnsent: true), get: true, put: true, post: true) }
        + notFaults.flatMap { code in
            [true, false].map { Row(outcome: .failure(code, isUnsent: $0), get: false, put: false, post: false) }
        }
        + [502, 503, 504].map { Row(outcome: .response(status: $0), get: true, put: true, post: false) }
        + [200, 206, 301, 304, 404, 416, 429, 500, 501, 505].map {
            Row(outcome: .response(status: $0), get: false, put: false, post: false)
        }

    /// Mutants: 503 is passed on to the client; a POST that a server may have is sent to another.
    @Test(arguments: rows) func outcomeDecidesWhetherAnotherServerIsTried(_ row: Row) {
        for (request, goesOn) in [(Self.get, row.get), (Self.put, row.put), (Self.post, row.post)] {
            var failover = Failover([Self.own, Self.own], request)
            let first = failover.first()
            let next = step(&failover, row.outcome, 0)
            #expect(first?.server == 0 && next?.server == (goesOn ? 1 : nil), "\(request)")
            guard goesOn else { continue }
            let last = step(&failover, row.outcome, 1)
            #expect(last == nil, "the last one's outcome is the client's")
        }
    }

    @Test func noServerIsTriedWhenTheTimeIsOver() {
        var failover = Failover([Self.own, Self.own], Self.get)
        _ = failover.first()
        let next = failover.next(after: .failure(.connect, isUnsent: true), of: 0, isTimeOver: true)
        #expect(next == nil)
    }

    /// Mutant: a mirror gets changes too.
    @Test func mirrorsGetNoChanges() {
        for request in [Self.put, Self.post] {
            var failover = Failover([Self.own, Self.own, Self.trusted], request)
            let tried = order(&failover, after: .failure(.connect, isUnsent: true)).map(\.server)
            #expect(tried == [0, 1])
        }
    }

    /// Mutant: `mirror-gets-credentials`.
    @Test func onlyTrustedMirrorsGetRequestsWithCredentials() {
        var request = Self.get
        let servers = [Self.aside(Self.own), Self.mirror, Self.trusted, Self.aside(Self.mirror)]
        for (hasCredentials, expected) in [(false, [1, 2, 0, 3]), (true, [2, 0])] {
            request.hasCredentials = hasCredentials
            var failover = Failover(servers, request)
            let tried = order(&failover, after: .failure(.connect, isUnsent: true)).map(\.server)
            #expect(tried == expected)
        }
    }

    @Test func serversAreTriedInOrderAndThoseSetAsideLast() {
        var failover = Failover(
            [Self.aside(Self.own), Self.mirror, Self.aside(Self.mirror), Self.mirror],
            Self.get
        )
        let tried = order(&failover, after: .failure(.connect, isUnsent: true))
        #expect(tried.map(\.server) == [1, 3, 0, 2])
        // The time is shared with servers that are worth it.
        #expect(tried.map(\.shares) == [3, 2, 2, 1])
        #expect(tried.allSatisfy { !$0.isLastChance })
    }

    /// A request that mirrors do not get shows nothing about the origin if it fails, and fails soon
    /// while its servers are set aside.
    ///
    /// Mutants: `restricted-failure-opens-the-breaker`, `second-server-set-aside-takes-its-time`.
    @Test func requestThatMirrorsDoNotGetFailsSoon() {
        var request = Self.get
        request.hasCredentials = true
        var failover = Failover([Self.aside(Self.own), Self.mirror], request)
        let first = failover.first()
        #expect(failover.isRestricted && first?.isLastChance == true)
        failover = Failover([Self.aside(Self.own), Self.mirror], request)
        let busy = failover.first { _ in false }
        #expect(busy == nil)
        failover = Failover([Self.aside(Self.own), Self.aside(Self.own), Self.mirror], request)
        let tried = order(&failover, after: .failure(.timeout, isUnsent: false))
        #expect(tried.map(\.server) == [0, 1] && tried.allSatisfy(\.isLastChance))
        // A change takes its time.
        failover = Failover([Self.aside(Self.own), Self.mirror], Self.post)
        let change = failover.first { _ in false }
        #expect(failover.isRestricted && change?.isLastChance == false)
        failover = Failover([Self.own, Self.trusted], request)
        let all = failover.first()
        #expect(!failover.isRestricted && all?.isLastChance == false)
    }

    /// Mutant: a POST has half of the time, and no other server gets it.
    @Test func aRequestThatIsNotRepeatedHasAllOfTheTime() {
        var failover = Failover([Self.own, Self.own], Self.post)
        #expect(order(&failover, after: .failure(.connect, isUnsent: true)).map(\.shares) == [1, 1])
        failover = Failover([Self.own, Self.own], Self.put)
        #expect(order(&failover, after: .failure(.connect, isUnsent: true)).map(\.shares) == [2, 1])
    }

    /// Mutant: `set-aside-server-is-not-asked`.
    @Test(arguments: [502, 503, 504]) func serverThatIsSetAsideIsBetterThanAnError(_ status: Int) {
        var failover = Failover([Self.aside(Self.own), Self.mirror], Self.get)
        let tried = order(&failover, after: .response(status: status))
        #expect(tried.map(\.server) == [1, 0])
        // It must not cost the client much.
        #expect(tried.map(\.isLastChance) == [false, true])
        failover = Failover([Self.aside(Self.own), Self.mirror], Self.get)
        #expect(failover.first()?.server == 1)
        let busy = step(&failover, .response(status: status), 1) { _ in false }
        #expect(busy == nil, "another request finds out")
    }

    /// A mirror that does not have something knows nothing about the origin.
    @Test func whatAMirrorDoesNotHaveIsAskedOfTheOthers() {
        var failover = Failover([Self.aside(Self.own), Self.mirror, Self.mirror], Self.get)
        #expect(order(&failover, after: .response(status: 404)).map(\.server) == [1, 2, 0])
        failover = Failover([Self.own, Self.mirror], Self.get)
        #expect(order(&failover, after: .response(status: 404)).map(\.server) == [0], "it is the origin's word")
    }

    /// The last one of the best outcomes is the client's. So a mirror that cannot be reached turns
    /// neither an error of the origin, nor one target at which it hangs up, into an unreachable
    /// origin.
    ///
    /// Mutant: `last-failure-is-the-clients`.
    @Test func bestOutcomeIsTheClients() {
        let outcomes: [(Failover.Outcome, worth: Int)] = [
            (.failure(.connect, isUnsent: true), 0), (.failure(.tls, isUnsent: true), 0),
            (.failure(.connectionClosed, isUnsent: false), 1), (.failure(.timeout, isUnsent: false), 1),
            (.failure(.protocolViolation, isUnsent: false), 1),
            (.response(status: 503), 2), (.response(status: 504), 2), (.response(status: 404), 3),
            (.response(status: 200), 4),
        ]
        for first in outcomes {
            for second in outcomes {
                var failover = Failover([Self.mirror, Self.mirror], Self.get)
                let keepsFirst = failover.keeps(first.0, of: 0)
                let keepsSecond = failover.keeps(second.0, of: 1)
                #expect(keepsFirst && keepsSecond == (second.worth >= first.worth), "\(first) \(second)")
            }
        }
    }

    private func step(
        _ failover: inout Failover,
        _ outcome: Failover.Outcome,
        _ server: Int,
        _ mayTry: (Int) -> Bool = { _ in true }
    ) -> Failover.Attempt? {
        _ = failover.keeps(outcome, of: server)
        return failover.next(after: outcome, of: server, isTimeOver: false, mayTry)
    }

    /// The servers that are tried if all attempts end in the same way.
    private func order(_ failover: inout Failover, after outcome: Failover.Outcome) -> [Failover.Attempt] {
        var tried: [Failover.Attempt] = []
        var next = failover.first()
        while let attempt = next {
            tried.append(attempt)
            next = step(&failover, outcome, attempt.server)
        }
        return tried
    }
}

/// Health of a server of an origin.
@Suite(.timeLimit(.minutes(20))) struct ServerHealthTests {
    private static let start = Timestamp(seconds: 1000)
    private static func at(_ seconds: Int64) -> Timestamp { Timestamp(seconds: 1000 + seconds) }
    private static func target(_ number: Int) -> AskedTarget { AskedTarget(target: number, request: number) }
    private static let probe = target(-1)

    /// Sets it aside by a connection that did not come about.
    private func aside(isSlow: Bool = false, at seconds: Int64 = 0) -> ServerHealth {
        var health = ServerHealth()
        let step = health.fail(Self.target(1), .connection, isSlow: isSlow, at: Self.at(seconds))
        #expect(step == .setAside && health.isAside)
        return health
    }

    private func availability(_ health: ServerHealth, _ target: Int = 2, at seconds: Int64 = 0)
        -> ServerHealth.Availability
    {
        health.availability(for: { Self.target(target) }, at: Self.at(seconds))
    }

    /// One URL that hangs up or responds with an error is asked of another server; the others stay.
    ///
    /// Mutant: `one-url-sets-a-server-aside`.
    @Test(arguments: [FailureEvidence.Failure.hangUp, .silence]) func oneTargetMovesNoOther(
        _ failure: FailureEvidence.Failure
    ) {
        var health = ServerHealth()
        var steps: [ServerHealth.Step] = []
        for second in 0..<4 {
            steps.append(
                health.fail(Self.target(1), failure, isSlow: failure == .silence, at: Self.at(Int64(second)))
            )
        }
        #expect(steps == [.none, .none, .ask, .none])
        #expect(!health.isAside && availability(health, 2, at: 3) == .available)
        // The request itself goes to another server first.
        #expect(availability(health, 1, at: 3) == .aside)
        let step = health.probed(Self.probe, isGood: true, at: Self.at(3))
        #expect(step == .none && !health.isAside)
    }

    @Test func serverThatHangsUpOnTheGatewayTooIsSetAside() {
        var health = ServerHealth()
        var steps = (1...3).map { health.fail(Self.target($0), .hangUp, isSlow: false, at: Self.start) }
        steps += (1...2).map { _ in health.probed(Self.probe, isGood: false, at: Self.start) }
        #expect(steps == [.none, .none, .ask, .ask, .setAside])
    }

    /// Mutant: the pause stays that of the first failure.
    @Test func pauseDoublesUpToItsLimit() {
        var health = aside()
        var now: Int64 = 0
        var pauses: [Int64] = []
        for _ in 0..<40 {
            var pause: Int64 = 1
            while !health.beginLook(at: Self.at(now + pause)) { pause += 1 }
            pauses.append(pause)
            now += pause
            let steps = (1...2).map { _ in health.probed(Self.probe, isGood: false, at: Self.at(now)) }
            #expect(steps == [.ask, .none])
        }
        #expect(pauses.prefix(8) == [1, 2, 4, 8, 16, 32, 60, 60] && pauses.last == 60)
    }

    /// Thirty requests that were under way when the server died say it once.
    /// Mutant: each of them doubles the pause.
    @Test func failuresOfRequestsCountOnce() {
        var health = ServerHealth()
        let steps = (0..<30).map {
            health.fail(Self.target($0), .connection, isSlow: false, at: Self.at(0))
        }
        #expect(steps == [.setAside] + Array(repeating: .none, count: 29))
        let looks = [0, 1].map { health.beginLook(at: Self.at($0)) }
        #expect(looks == [false, true])
    }

    /// No request of a client finds out whether it is back: its target may be one that fails.
    /// Mutant: `every-request-begins-a-look`.
    @Test func theGatewayFindsOutOnceWhetherItIsBack() {
        var health = aside()
        let looks = [0, 1, 1, 30].map { health.beginLook(at: Self.at($0)) }
        #expect(looks == [false, true, false, false])
        #expect(availability(health, at: 30) == .aside)
        let steps = [true, true].map { health.probed(Self.probe, isGood: $0, at: Self.at(30)) }
        #expect(steps == [.takeBack, .none] && availability(health, at: 30) == .available)
    }

    @Test func responseOfAServerThatIsSetAsideTakesItBack() {
        var health = aside()
        let look = health.beginLook(at: Self.at(1))
        let step = health.succeed({ Self.target(2) }, at: Self.at(1))
        #expect(look && step == .takeBack && availability(health, at: 1) == .available)
        // The probe is over: its result changes nothing.
        let late = (1...3).map { _ in health.probed(Self.probe, isGood: false, at: Self.at(2)) }
        #expect(late == [.none, .none, .none] && !health.isAside)
    }

    /// A silent server costs one request its time, not each.
    /// Mutant: `every-request-tries-a-silent-server`.
    @Test func slowServerIsTriedByOneRequestAtATime() {
        var health = aside(isSlow: true)
        let tries = [0, 1].map { health.beginLastChance(at: Self.at($0)) }
        #expect(tries == [true, false])
        health.endLastChance()
        let again = [1, 2, 3].map { health.beginLastChance(at: Self.at($0)) }
        #expect(again == [true, false, true], "a try that never ended holds the next one for two seconds")
        var quick = aside()
        let quicks = [0, 0].map { quick.beginLastChance(at: Self.at($0)) }
        #expect(quicks == [true, true])
    }

    /// Mutant: `one-failed-check-sets-aside`.
    @Test func checkIsRepeatedBeforeItSetsAside() {
        var health = ServerHealth()
        let steps = [true, false, true, false, false, false].map { health.check(isGood: $0) }
        #expect(steps == [.none, .ask, .none, .ask, .setAside, .none])
    }

    @Test func failedChecksSetAsideUntilTheNextGoodOne() {
        var health = ServerHealth()
        _ = [false, false].map { health.check(isGood: $0) }
        #expect(availability(health, at: 9999) == .aside)
        // A request that got through is no check.
        let isBack = health.succeed({ Self.target(1) }, at: Self.at(0))
        #expect(isBack == .none && health.isAside)
        let change = health.check(isGood: true)
        #expect(change == .takeBack && !health.isAside)
        // A server whose requests fail is not back because it does the check.
        _ = health.fail(Self.target(1), .connection, isSlow: false, at: Self.at(0))
        let end = health.check(isGood: true)
        #expect(end == .none && availability(health, at: 0) == .aside)
        _ = [false, false].map { health.check(isGood: $0) }
        let back = health.check(isGood: true)
        #expect(back == .takeBack && availability(health, at: 0) == .available)
    }
}
