import HTTPCache
import HTTPCacheOperations
import Testing

/// The order in which the limiter admits operations.
@Suite(.timeLimit(.minutes(20))) struct LimiterTests {
    @Test func turnsComeInTheOrderOfArrival() {
        var turns = LimiterState(permits: 2, waitingLimit: 2)
        #expect((1...5).map { turns.arrive($0) } == [.enter, .enter, .wait, .wait, .isFull])
        #expect(turns.leave() == 3)
        #expect(turns.arrive(6) == .wait)
        #expect(turns.leave() == 4 && turns.leave() == 6 && turns.leave() == nil)
        #expect(turns.arrive(7) == .enter && turns.arrive(8) == .wait)
    }

    @Test func oneThatStopsWaitingMakesRoomAndGetsNoTurn() {
        var turns = LimiterState(permits: 1, waitingLimit: 2)
        for id in 1...3 { _ = turns.arrive(id) }
        #expect([turns.stopWaiting(2), turns.stopWaiting(2)] == [true, false])
        // It has its permit already.
        let hasWaited = turns.stopWaiting(1)
        #expect(!hasWaited)
        #expect(turns.arrive(4) == .wait && turns.leave() == 3 && turns.leave() == 4)
    }

    @Test func endLetsNoOneIn() {
        var turns = LimiterState(permits: 1, waitingLimit: 2)
        for id in 1...3 { _ = turns.arrive(id) }
        #expect(turns.end() == [2, 3])
        #expect(turns.arrive(4) == .hasEnded && turns.leave() == nil && turns.arrive(5) == .hasEnded)
    }

    @Test func cancelledTaskStopsWaiting() async throws {
        let queue = Limiter(permits: 1, waitingLimit: 30)
        try await queue.enter()
        let tasks = (0..<30).map { _ in Task { try await queue.enter() } }
        while queue.waiting < 30, !Task.isCancelled { await Task.yield() }
        for task in tasks.dropFirst() { task.cancel() }
        for task in tasks.dropFirst() {
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(queue.waiting == 1)
        queue.leave()
        try await tasks[0].value
        queue.leave()
        try await queue.enter()
    }
}
