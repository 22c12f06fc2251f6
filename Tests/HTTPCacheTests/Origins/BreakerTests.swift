import HTTPCacheSemantics
import Testing

@testable import HTTPCache

/// The breaker as a value.
@Suite(.timeLimit(.minutes(20))) struct BreakerTests {
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

    @Test func opensAtOnceIfNoConnectionIsPossible() {
        let (breaker, actions) = breaker([(bad, .connection)])
        #expect(actions == [.open])
        #expect(breaker.isOpen)
    }

    /// A confirmation would keep every miss waiting for as long again.
    @Test func opensAtOnceAfterSilenceToSeveralTargets() {
        let (breaker, actions) = breaker((1...3).map { (target($0), .silence) })
        #expect(actions == [.none, .none, .open])
        #expect(breaker.verdict(for: target(4), at: start) == .unreachable)
    }

    /// Different targets, a single target, and a target that fails in both ways.
    ///
    /// Mutant: `breaker-opens-unconfirmed`.
    @Test(arguments: [[1, 2, 3], [1, 1, 1], [1, 2, 1]], [[Breaker.Failure.hangUp], [.silence, .hangUp, .silence]])
    func probesAnotherTargetBeforeItOpens(targets: [Int], failures: [Breaker.Failure]) {
        var (breaker, actions) = breaker(
            targets.enumerated().map { (target($1), failures[$0 % failures.count]) }
        )
        #expect(actions == [.none, .none, .confirm])
        #expect(!breaker.isOpen)
        #expect(breaker.backOff(options, jitter: 1) == .zero)
        // Requests continue, and no second confirmation begins meanwhile.
        #expect(breaker.verdict(for: target(4), at: start) == .reachable)
        let fourth = breaker.failed(target(4), .hangUp, options, at: start)
        #expect(fourth == .none)
        actions = (1...2).map { _ in breaker.probeFailed(at: after(1)) }
        #expect(actions == [.none, .open])
        #expect(breaker.verdict(for: target(5), at: after(1)) == .unreachable)
    }

    @Test(arguments: [Breaker.Failure.hangUp, .silence])
    func confirmsWithOnlyOneTarget(failure: Breaker.Failure) {
        var (breaker, actions) = breaker(Array(repeating: (bad, failure), count: 3))
        #expect(actions == [.none, .none, .confirm])
        #expect(breaker.verdict(for: bad, at: start) == .failing)
        let wasOpen = breaker.answered(target(1), at: start)
        #expect(!wasOpen)
        #expect(breaker.backOff(options, jitter: 1) == nil)
    }

    @Test func successResetsFailureCount() {
        var (breaker, _) = breaker([(target(1), .hangUp), (target(2), .hangUp)])
        let wasOpen = breaker.answered(target(3), at: start)
        let action = breaker.failed(target(4), .hangUp, options, at: start)
        #expect(!wasOpen)
        #expect(action == .none)
        #expect(!breaker.isOpen)
    }

    /// Mutant: `breaker-counts-one-target`.
    @Test(arguments: [Breaker.Failure.hangUp, .silence])
    func onlyFailingTargetIsRejected(failure: Breaker.Failure) {
        var (breaker, _) = breaker([(bad, failure)])
        _ = breaker.answered(target(1), at: start)
        for _ in 0..<10 { _ = breaker.failed(bad, failure, options, at: after(10)) }
        #expect(!breaker.isOpen)
        #expect(breaker.verdict(for: bad, at: after(20)) == .failing)
        #expect(breaker.verdict(for: target(2), at: after(20)) == .reachable)
        let admitted = breaker.admit(bad, at: after(20))
        #expect(!admitted)
        // The same target with other fields.
        #expect(breaker.verdict(for: AskedTarget(target: bad.target, request: 2), at: after(20)) == .reachable)
    }

    @Test func failingTargetBacksOffUntilItSucceeds() {
        var (breaker, _) = breaker([(target(1), .hangUp)])
        _ = breaker.answered(target(1), at: start)
        var now = start
        var pauses: [Int64] = []
        for _ in 0..<9 {
            let failedAt = now
            _ = breaker.answered(target(1), at: now)
            _ = breaker.failed(bad, .hangUp, options, at: now)
            while breaker.verdict(for: bad, at: now) == .failing { now = now.adding(milliseconds: 100) }
            pauses.append(now.milliseconds(since: failedAt))
        }
        #expect(pauses == [0, 0, 1000, 2000, 4000, 8000, 8000, 8000, 8000])
        _ = breaker.failed(bad, .hangUp, options, at: now)
        _ = breaker.answered(AskedTarget(target: bad.target, request: 2), at: now)
        #expect(breaker.verdict(for: bad, at: now) == .reachable)
    }

    @Test func concurrentFailuresAreOneTry() {
        var (breaker, _) = breaker([(target(1), .hangUp)])
        _ = breaker.answered(target(1), at: start)
        for _ in 0..<30 { _ = breaker.failed(bad, .hangUp, options, at: start) }
        #expect(breaker.verdict(for: bad, at: after(999)) == .failing)
        #expect(breaker.verdict(for: bad, at: after(1000)) == .reachable)
    }

    @Test func excessFailingTargetsAreForgotten() {
        var (breaker, _) = breaker([(target(0), .hangUp)])
        _ = breaker.answered(target(0), at: start)
        for number in 0..<1000 {
            for _ in 0..<3 {
                _ = breaker.failed(target(number), .hangUp, options, at: start)
                _ = breaker.answered(target(1000), at: start)
            }
        }
        let refused = (0..<1000).filter { breaker.verdict(for: target($0), at: start) == .failing }
        #expect(refused == Array(1000 - FailingTargets.limit..<1000))
    }

    @Test func openBreakerAdmitsOneRequestPerSecond() {
        var (breaker, _) = breaker([(target(1), .connection)])
        var admitted: [Int64] = []
        for time in stride(from: Int64(0), through: 5000, by: 10) where breaker.admit(target(2), at: after(time)) {
            admitted.append(time)
        }
        #expect(admitted == [0, 1000, 2000, 3000, 4000, 5000])
    }

    @Test func openBreakerPrefersOtherTargets() {
        var (breaker, _) = breaker(Array(repeating: (bad, .hangUp), count: 3))
        for _ in 1...2 { _ = breaker.probeFailed(at: start) }
        let admitted = [(bad, 1000), (target(1), 1000), (bad, 2400), (bad, 2500)]
            .map { breaker.admit($0.0, at: after($0.1)) }
        #expect(admitted == [false, true, false, true])
    }

    @Test func clockSetBackRejectsNoRequest() {
        var (breaker, _) = breaker([(target(1), .connection)])
        _ = breaker.admit(target(1), at: start)
        #expect(breaker.wouldAdmit(target(1), at: start.adding(.seconds(-3600))))
    }

    @Test func confirmsSilenceAfterFalseAlarm() {
        var (breaker, _) = breaker((1...3).map { (target($0), .silence) })
        _ = breaker.answered(target(9), at: after(500))
        var actions = (4...6).map { breaker.failed(target($0), .silence, options, at: after(600)) }
        #expect(actions == [.none, .none, .confirm])
        _ = breaker.answered(target(10), at: after(610))
        // Once a second.
        actions = (7...9).map { breaker.failed(target($0), .silence, options, at: after(620)) }
        #expect(actions == [.none, .none, .none])
        actions = (10...11).map { breaker.failed(target($0), .silence, options, at: after(1700)) }
        #expect(actions == [.confirm, .none])
        #expect(!breaker.isOpen)
    }

    @Test func recoveryForgetsEverything() {
        var (breaker, _) = breaker((1...3).map { (target($0), .silence) })
        _ = breaker.answered(target(1), at: after(500))
        #expect(!breaker.isIdle)
        _ = breaker.answered(target(1), at: after(70_000))
        #expect(breaker.isIdle)
    }

    @Test func backOffDoublesUpToLimit() {
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
