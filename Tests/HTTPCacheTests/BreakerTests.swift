import HTTPCacheSemantics
import Testing

@testable import HTTPCache

/// The breaker as a value.
@Suite struct BreakerTests {
    private let options = BreakerOptions()
    private let start = Timestamp(seconds: 1000)
    private let bad = AskedTarget(target: 1, request: 1)

    private func target(_ number: Int) -> AskedTarget { AskedTarget(target: 100 + number, request: 100 + number) }
    private func after(_ milliseconds: Int64) -> Timestamp { start.adding(milliseconds: milliseconds) }

    /// A breaker after some failures.
    private func breaker(_ failures: [(AskedTarget, Breaker.Failure)]) -> (Breaker, [Breaker.Action]) {
        var breaker = Breaker()
        let actions = failures.map { breaker.failed($0.0, $0.1, options, at: start) }
        return (breaker, actions)
    }

    @Test func opensAtOnceWhereNoConnectionIsPossible() {
        let (breaker, actions) = breaker([(bad, .connection)])
        #expect(actions == [.open])
        #expect(breaker.isOpen)
    }

    @Test func opensAfterSoManyTargetsFailedInARow() {
        let (breaker, actions) = breaker((1...3).map { (target($0), .response) })
        #expect(actions == [.none, .none, .open])
        #expect(breaker.verdict(for: target(4), at: start) == .unreachable)
    }

    @Test func opensForTheOnlyTargetThatIsAskedFor() {
        let (_, actions) = breaker(Array(repeating: (bad, .response), count: 3))
        #expect(actions == [.none, .none, .open])
    }

    @Test func aSuccessInBetweenStartsTheCountAnew() {
        var (breaker, _) = breaker([(target(1), .response), (target(2), .response)])
        let wasOpen = breaker.answered(target(3), at: start)
        let action = breaker.failed(target(4), .response, options, at: start)
        #expect(!wasOpen)
        #expect(action == .none)
        #expect(!breaker.isOpen)
    }

    /// Mutant: `breaker-counts-one-target`.
    @Test func aTargetThatFailsAmongOthersIsRefusedByItself() {
        var (breaker, _) = breaker([(bad, .response)])
        _ = breaker.answered(target(1), at: start)
        for _ in 0..<10 { _ = breaker.failed(bad, .response, options, at: after(10)) }
        #expect(!breaker.isOpen)
        #expect(breaker.verdict(for: bad, at: after(20)) == .failing)
        #expect(breaker.verdict(for: target(2), at: after(20)) == .reachable)
        let admitted = breaker.admit(bad, at: after(20))
        #expect(!admitted)
        // The same target, asked for with other fields.
        #expect(breaker.verdict(for: AskedTarget(target: bad.target, request: 2), at: after(20)) == .reachable)
    }

    @Test func aFailingTargetIsTriedEverMoreRarelyAndASuccessEndsThat() {
        var (breaker, _) = breaker([(target(1), .response)])
        _ = breaker.answered(target(1), at: start)
        var now = start
        var pauses: [Int64] = []
        for _ in 0..<9 {
            let failedAt = now
            _ = breaker.answered(target(1), at: now)
            _ = breaker.failed(bad, .response, options, at: now)
            while breaker.verdict(for: bad, at: now) == .failing { now = now.adding(milliseconds: 100) }
            pauses.append(now.milliseconds(since: failedAt))
        }
        #expect(pauses == [0, 0, 1000, 2000, 4000, 8000, 8000, 8000, 8000])
        _ = breaker.failed(bad, .response, options, at: now)
        _ = breaker.answered(AskedTarget(target: bad.target, request: 2), at: now)
        #expect(breaker.verdict(for: bad, at: now) == .reachable)
    }

    @Test func failuresThatWereUnderWayTogetherAreOneTry() {
        var (breaker, _) = breaker([(target(1), .response)])
        _ = breaker.answered(target(1), at: start)
        for _ in 0..<30 { _ = breaker.failed(bad, .response, options, at: start) }
        #expect(breaker.verdict(for: bad, at: after(999)) == .failing)
        #expect(breaker.verdict(for: bad, at: after(1000)) == .reachable)
    }

    @Test func tooManyFailingTargetsAreForgottenAndNotRefused() {
        var (breaker, _) = breaker([(target(0), .response)])
        _ = breaker.answered(target(0), at: start)
        for number in 0..<1000 {
            for _ in 0..<3 {
                _ = breaker.failed(target(number), .response, options, at: start)
                _ = breaker.answered(target(1000), at: start)
            }
        }
        let refused = (0..<1000).filter { breaker.verdict(for: target($0), at: start) == .failing }
        #expect(refused == Array(1000 - FailingTargets.limit..<1000))
    }

    @Test func openItLetsOneRequestASecondThrough() {
        var (breaker, _) = breaker([(target(1), .connection)])
        var admitted: [Int64] = []
        for time in stride(from: Int64(0), through: 5000, by: 10) where breaker.admit(target(2), at: after(time)) {
            admitted.append(time)
        }
        #expect(admitted == [0, 1000, 2000, 3000, 4000, 5000])
    }

    @Test func openItTriesOtherTargetsBeforeTheOneThatFailed() {
        var (breaker, _) = breaker(Array(repeating: (bad, .response), count: 3))
        let badFirst = breaker.admit(bad, at: start)
        let other = breaker.admit(target(1), at: start)
        let badInTurn = breaker.admit(bad, at: after(1400))
        let badLater = breaker.admit(bad, at: after(1500))
        #expect(!badFirst)
        #expect(other)
        #expect(!badInTurn)
        #expect(badLater)
    }

    @Test func aClockThatIsSetBackRefusesNobody() {
        var (breaker, _) = breaker([(target(1), .connection)])
        _ = breaker.admit(target(1), at: start)
        #expect(breaker.wouldAdmit(target(1), at: start.adding(.seconds(-3600))))
    }

    /// Mutant: `breaker-opens-unconfirmed`.
    @Test func afterAFalseAlarmItAsksForSomethingElseBeforeItOpens() {
        var (breaker, _) = breaker((1...3).map { (target($0), .response) })
        _ = breaker.answered(target(9), at: after(500))
        var actions = (4...6).map { breaker.failed(target($0), .response, options, at: after(600)) }
        #expect(actions == [.none, .none, .confirm])
        #expect(!breaker.isOpen)
        #expect(breaker.backOff(options, jitter: 1) == .zero)
        _ = breaker.answered(target(10), at: after(610))
        // Once a second.
        actions = (7...9).map { breaker.failed(target($0), .response, options, at: after(620)) }
        #expect(actions == [.none, .none, .none])
        actions = (10...11).map { breaker.failed(target($0), .response, options, at: after(1700)) }
        #expect(actions == [.confirm, .none])
        let first = breaker.probeFailed(at: after(1710))
        #expect(first == .none)
        let second = breaker.probeFailed(at: after(1720))
        #expect(second == .open)
        #expect(breaker.isOpen)
    }

    @Test func nothingIsRememberedWhenAllIsWellAgain() {
        var (breaker, _) = breaker((1...3).map { (target($0), .response) })
        _ = breaker.answered(target(1), at: after(500))
        #expect(!breaker.isIdle)
        _ = breaker.answered(target(1), at: after(70_000))
        #expect(breaker.isIdle)
    }

    @Test func backsOffTwiceAsLongEachTimeUpToTheLimit() {
        var options = BreakerOptions()
        options.initialBackOff = .seconds(1)
        options.maximumBackOff = .seconds(10)
        var (breaker, _) = breaker([(bad, .connection)])
        var delays: [Duration?] = []
        for _ in 0..<6 {
            delays.append(breaker.backOff(options, jitter: 1))
            _ = breaker.probeFailed(at: start)
        }
        #expect(delays == [1, 2, 4, 8, 10, 10].map { .seconds($0) })
        #expect(breaker.backOff(options, jitter: 0) == .seconds(5))
    }

    @Test func manyProbesDoNotOverflow() {
        var (breaker, _) = breaker([(bad, .connection)])
        for _ in 0..<1000 { _ = breaker.probeFailed(at: start) }
        #expect(breaker.backOff(BreakerOptions(), jitter: 1) == .seconds(30))
    }
}
