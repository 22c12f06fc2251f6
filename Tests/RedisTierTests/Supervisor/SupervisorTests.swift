import HoldfastTesting
import NIOCore
import Synchronization
import Testing

@testable import RedisTier

/// The supervisor with a scripted server and a clock that stands still.
@Suite(.timeLimit(.minutes(20))) struct SupervisorTests {
    @Test func connectsAndSends() async throws {
        try await SupervisorBench.with { bench in
            #expect(bench.supervisor.state == .unreachable)
            #expect(await bench.get() == .unavailable)
        } running: { bench in
            await bench.reaches(.ready)
            #expect(await bench.get() == nil)
            #expect(bench.server.commands == ["GET"])
        }
    }

    @Test func connectsAgainAfterPauses() async throws {
        try await SupervisorBench.with {
            $0.server.set(.refusing)
        } running: { bench in
            for pause in [50, 100, 200] {
                await bench.clock.sleepers(atLeast: 1)
                #expect(bench.clock.deadlines == [.init(bench.clock.now.offset + .milliseconds(pause))])
                #expect(await bench.get() == .unavailable)
                if pause == 200 { bench.server.set(.replying) }
                bench.clock.advance(by: .milliseconds(pause))
                await bench.server.attempts(atLeast: pause == 50 ? 2 : pause == 100 ? 3 : 4)
            }
            await bench.reaches(.ready)
            #expect(await bench.get() == nil)
        }
    }

    /// Before the supervisor sleeps, time passes.
    ///
    /// Mutant: `redis-pause-starts-late`.
    @Test func pauseEndsInTimeAlthoughItStartsLate() async {
        let (clock, failures) = (PassingClock(), Observed<[ManualDurationClock.Instant]>([]))
        let supervisor = ConnectionSupervisor(
            clock: clock,
            random: {
                failures.change { $0.append(clock.base.now) }
                return 1
            }
        ) { () throws(RedisTierError) in throw RedisTierError(.unreachable, "refused") }
        let task = Task { await supervisor.run() }
        defer { task.cancel() }
        await clock.base.sleepers(atLeast: 1)
        #expect(clock.base.deadlines == failures.value.map { $0.advanced(by: .milliseconds(50)) })
    }

    @Test func lostConnectionFailsAtOnceAndComesBack() async throws {
        try await SupervisorBench.with { _ in
        } running: { bench in
            await bench.reaches(.ready)
            #expect(await bench.get() == nil)
            bench.server.hangUp()
            await bench.reaches(.unreachable)
            #expect(await bench.get() == .unavailable)
            await bench.clock.sleepers(atLeast: 1)
            bench.clock.advance(by: .milliseconds(50))
            await bench.reaches(.ready)
            #expect(await bench.get() == nil)
        }
    }

    @Test func fiveTimeoutsOpenTheBreakerAndAProbeClosesIt() async throws {
        try await SupervisorBench.with { _ in
        } running: { bench in
            await bench.reaches(.ready)
            bench.server.set(.silent)
            for _ in 0..<5 { #expect(await bench.get() == .timedOut) }
            #expect(bench.supervisor.state == .suspended)
            #expect(await bench.get() == .unavailable)
            #expect(bench.server.commands.count == 5)
            // The first probe fails, and the pause doubles.
            await bench.clock.sleepers(atLeast: 1)
            bench.clock.advance(by: .milliseconds(50))
            await bench.server.commands(atLeast: 6)
            await bench.clock.sleepers(atLeast: 1)
            #expect(bench.clock.deadlines == [.init(.milliseconds(150))])
            bench.server.set(.replying)
            bench.clock.advance(by: .milliseconds(100))
            await bench.reaches(.ready)
            #expect(bench.server.commands.suffix(2) == ["PING", "PING"])
            #expect(await bench.get() == nil)
        }
    }

    /// A reply between two failures begins the count again.
    @Test func repliesKeepTheBreakerClosed() async throws {
        try await SupervisorBench.with { _ in
        } running: { bench in
            await bench.reaches(.ready)
            for _ in 0..<4 {
                bench.server.set(.silent)
                for _ in 0..<4 { #expect(await bench.get() == .timedOut) }
                bench.server.set(.replying)
                #expect(await bench.get() == nil)
            }
            #expect(bench.supervisor.state == .ready)
        }
    }

    /// An error reply is a reply: the server is there.
    @Test func errorRepliesAreNoFailures() async throws {
        try await SupervisorBench.with {
            $0.server.set(.rejecting)
        } running: { bench in
            await bench.reaches(.ready)
            for _ in 0..<10 { #expect(await bench.get() == nil) }
            #expect(bench.supervisor.state == .ready)
        }
    }

    /// A probe that is rejected, as while a server loads its data, does not close the breaker.
    @Test func rejectedProbeKeepsTheBreakerOpen() async throws {
        try await SupervisorBench.with { _ in
        } running: { bench in
            await bench.reaches(.ready)
            bench.server.set(.silent)
            for _ in 0..<5 { _ = await bench.get() }
            bench.server.set(.rejecting)
            await bench.clock.sleepers(atLeast: 1)
            bench.clock.advance(by: .milliseconds(50))
            await bench.server.commands(atLeast: 6)
            await bench.pausesOrReaches(.ready)
            #expect(bench.supervisor.state == .suspended)
        }
    }

    @Test func endClosesTheConnection() async throws {
        let bench = SupervisorBench()
        let task = Task { await bench.supervisor.run() }
        await bench.reaches(.ready)
        task.cancel()
        await task.value
        #expect(bench.supervisor.state == .ended && bench.server.isClosed)
        #expect(await bench.get() == .unavailable)
    }
}

/// A clock that moves forward by a millisecond whenever its time is read.
private struct PassingClock: Clock {
    typealias Instant = ManualDurationClock.Instant

    let base = ManualDurationClock()

    var now: Instant {
        base.advance(by: .milliseconds(1))
        return base.now
    }
    var minimumResolution: Swift.Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Swift.Duration?) async throws {
        try await base.sleep(until: deadline, tolerance: tolerance)
    }
}
