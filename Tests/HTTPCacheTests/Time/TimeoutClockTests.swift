import HTTPCache
import HoldfastTesting
import Testing

/// The clock of the engine's timeouts: sleepers wake in time, and leave nothing when cancelled.
@Suite(.timeLimit(.minutes(20))) struct TimeoutClockTests {
    private let base = ManualDurationClock()
    private let clock: TimeoutClock<ManualDurationClock>

    init() {
        clock = TimeoutClock(base)
    }

    @Test func sleeperWakesAtItsDeadlineAndNotBefore() async throws {
        let (woken, continuation) = AsyncStream<Int>.makeStream()
        let tasks = [3, 1, 2].map { seconds in
            Task {
                try await clock.sleep(for: .seconds(seconds))
                #expect(base.now.offset >= .seconds(seconds))
                continuation.yield(seconds)
            }
        }
        while clock.sleeperCount < 3, !Task.isCancelled { await Task.yield() }
        var iterator = woken.makeAsyncIterator()
        for seconds in 1...3 {
            await base.sleepers(atLeast: 1)
            base.advance(by: .seconds(1))
            #expect(await iterator.next() == seconds)
            #expect(base.now.offset == .seconds(seconds))
        }
        for task in tasks { try await task.value }
    }

    @Test func pastDeadlineReturnsAtOnce() async throws {
        try await clock.sleep(until: clock.now)
        try await clock.sleep(for: .seconds(-1))
        #expect(clock.sleeperCount == 0)
    }

    @Test func cancelledSleeperWakesAtOnceAndLeavesNothing() async throws {
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    do {
                        try await clock.sleep(for: .seconds(60 + number))
                        return false
                    } catch {
                        return error is CancellationError
                    }
                }
            }
            while clock.sleeperCount < 1000, !Task.isCancelled { await Task.yield() }
            // All of them share one sleep.
            #expect(base.sleeperCount <= 1)
            group.cancelAll()
            for await isCancelled in group { #expect(isCancelled) }
        }
        #expect(clock.sleeperCount == 0)
        #expect(base.sleeperCount <= 1)
    }

    @Test func cancelledTaskDoesNotSleep() async {
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await clock.sleep(for: .seconds(60))
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test func laterSleepDoesNotDelayEarlierOne() async throws {
        let late = Task { try await clock.sleep(for: .seconds(60)) }
        while clock.sleeperCount < 1, !Task.isCancelled { await Task.yield() }
        let early = Task { try await clock.sleep(for: .milliseconds(500)) }
        while clock.sleeperCount < 2, !Task.isCancelled { await Task.yield() }
        // The alarm for the first, and the earlier one for the second.
        await base.sleepers(atLeast: 2)
        base.advance(by: .milliseconds(500))
        try await early.value
        #expect(clock.sleeperCount == 1)
        late.cancel()
        await #expect(throws: CancellationError.self) { try await late.value }
    }
}
