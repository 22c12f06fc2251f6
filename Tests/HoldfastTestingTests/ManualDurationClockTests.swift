import HoldfastTesting
import Testing

@Suite(.timeLimit(.minutes(20))) struct ManualDurationClockTests {
    let clock = ManualDurationClock()

    @Test func sleepEndsWhenClockReachesDeadline() async throws {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for seconds in [3, 1, 2] {
                group.addTask { [clock] in
                    try await clock.sleep(for: .seconds(seconds))
                    return seconds
                }
            }
            await clock.sleepers(atLeast: 3)
            #expect(clock.sleeperCount == 3)
            clock.advance(by: .milliseconds(999))
            #expect(clock.sleeperCount == 3)
            clock.advance(by: .milliseconds(1))
            #expect(clock.sleeperCount == 2)
            let first = try await group.next()
            #expect(first == 1)
            clock.advance(by: .seconds(5))
            let others = try await group.reduce(into: Set()) { $0.insert($1) }
            #expect(others == [2, 3])
        }
        #expect(clock.now == .init(.seconds(6)))
        #expect(clock.sleeperCount == 0)
    }

    @Test func pastDeadlineReturnsAtOnce() async throws {
        clock.advance(by: .seconds(1))
        try await clock.sleep(until: .init(.seconds(1)))
        try await clock.sleep(for: .zero)
        #expect(clock.sleeperCount == 0)
    }

    @Test func cancellingEndsASleep() async throws {
        let sleeper = Task { [clock] in try await clock.sleep(for: .seconds(1)) }
        await clock.sleepers(atLeast: 1)
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(clock.sleeperCount == 0)
        let late = Task { [clock] in
            while !Task.isCancelled { await Task.yield() }
            try await clock.sleep(for: .seconds(1))
        }
        late.cancel()
        await #expect(throws: CancellationError.self) { try await late.value }
    }

    @Test func waitingForSleepersEndsWithItsTask() async {
        let waiter = Task { [clock] in await clock.sleepers(atLeast: 1) }
        waiter.cancel()
        await waiter.value
    }

    @Test func worksAsAnyClock() async throws {
        let any: any Clock<Duration> = clock
        let sleeper = Task { try await any.sleep(for: .seconds(2)) }
        await clock.sleepers(atLeast: 1)
        #expect(clock.deadlines == [.init(.seconds(2))])
        clock.advance(by: .seconds(2))
        try await sleeper.value
    }
}
