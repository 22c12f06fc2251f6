import Testing

@testable import RedisTier

/// Supervisor, as a value.
@Suite(.timeLimit(.minutes(20))) struct SupervisorMachineTests {
    private var machine = SupervisorMachine(SupervisorPolicy())

    /// Connects at a time.
    private mutating func connect(_ now: Duration = .zero) {
        #expect(machine.nextStep(at: now) == .connect)
        machine.connected(at: now)
    }

    @Test mutating func connectsAtOnceAndIsReady() {
        #expect(machine.state == .unreachable)
        connect()
        #expect(machine.state == .ready && machine.nextStep(at: .zero) == .waitForEvent)
    }

    @Test mutating func pausesDoubleUpToTheLongest() {
        var now = Duration.zero
        var pauses: [Duration] = []
        for _ in 0..<10 {
            #expect(machine.nextStep(at: now) == .connect)
            machine.failedToConnect(at: now, jitter: 1)
            guard case .wait(let time) = machine.nextStep(at: now) else { return _ = Issue.record("no pause") }
            pauses.append(time - now)
            now = time
        }
        #expect(pauses.map { $0 / .milliseconds(1) } == [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000])
    }

    @Test mutating func jitterIsUpToHalfOfThePause() {
        _ = machine.nextStep(at: .zero)
        machine.failedToConnect(at: .zero, jitter: 0)
        #expect(machine.nextStep(at: .zero) == .wait(until: .milliseconds(25)))
        #expect(machine.nextStep(at: .milliseconds(25)) == .connect)
    }

    @Test mutating func goodConnectionBeginsWithShortPausesAgain() {
        for round in 1...4 {
            connect(.seconds(round * 10))
            machine.replied()
            machine.lostConnection(at: .seconds(round * 10), jitter: 1)
            #expect(
                machine.nextStep(at: .seconds(round * 10)) == .wait(until: .seconds(round * 10) + .milliseconds(50))
            )
        }
    }

    /// A server that accepts and closes at once is not asked every 50 ms.
    @Test mutating func connectionsWithoutAReplyDoNotShortenThePauses() {
        var now = Duration.zero
        for pause in [50, 100, 200] {
            connect(now)
            machine.lostConnection(at: now, jitter: 1)
            #expect(machine.nextStep(at: now) == .wait(until: now + .milliseconds(pause)))
            now += .milliseconds(pause)
        }
    }

    @Test mutating func fiveFailuresInARowOpen() {
        connect()
        for _ in 0..<4 { machine.timedOut(at: .zero, jitter: 1) }
        machine.replied()
        for _ in 0..<4 { machine.timedOut(at: .zero, jitter: 1) }
        #expect(machine.state == .ready)
        machine.timedOut(at: .zero, jitter: 1)
        #expect(machine.state == .suspended && machine.nextStep(at: .zero) == .wait(until: .milliseconds(50)))
    }

    @Test mutating func oneProbeAtATimeAndItsSuccessCloses() {
        connect()
        for _ in 0..<5 { machine.timedOut(at: .zero, jitter: 1) }
        #expect(machine.nextStep(at: .milliseconds(50)) == .probe)
        #expect(machine.nextStep(at: .seconds(9)) == .waitForEvent)
        machine.probeFailed(at: .milliseconds(60), jitter: 1)
        #expect(machine.nextStep(at: .milliseconds(60)) == .wait(until: .milliseconds(160)))
        #expect(machine.state == .suspended)
        #expect(machine.nextStep(at: .milliseconds(160)) == .probe)
        machine.probeSucceeded()
        #expect(machine.state == .ready && machine.nextStep(at: .milliseconds(160)) == .waitForEvent)
    }

    @Test mutating func lateReplyDoesNotCloseTheBreaker() {
        connect()
        for _ in 0..<5 { machine.timedOut(at: .zero, jitter: 1) }
        machine.replied()
        #expect(machine.state == .suspended)
    }

    @Test mutating func connectionAfterFiveFailuresIsProbedFirst() {
        var now = Duration.zero
        for _ in 0..<5 {
            _ = machine.nextStep(at: now)
            machine.failedToConnect(at: now, jitter: 1)
            now += .seconds(10)
        }
        connect(now)
        #expect(machine.state == .suspended && machine.nextStep(at: now) == .probe)
        machine.probeSucceeded()
        #expect(machine.state == .ready)
    }

    @Test mutating func connectionLostWhileProbingIsProbedAgain() {
        connect()
        for _ in 0..<5 { machine.timedOut(at: .zero, jitter: 1) }
        #expect(machine.nextStep(at: .seconds(1)) == .probe)
        machine.lostConnection(at: .seconds(1), jitter: 1)
        #expect(machine.state == .unreachable)
        // News of a probe that is over.
        machine.probeFailed(at: .seconds(1), jitter: 1)
        connect(.seconds(2))
        #expect(machine.nextStep(at: .seconds(2)) == .probe)
    }

    @Test mutating func endIsFinal() {
        connect()
        machine.end()
        machine.connected(at: .zero)
        machine.lostConnection(at: .zero, jitter: 1)
        #expect(machine.state == .ended && machine.nextStep(at: .seconds(99)) == .end)
    }
}
