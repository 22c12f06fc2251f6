import Testing

@testable import HTTPCache

/// The memory for content of responses under way.
@Suite(.timeLimit(.minutes(20))) struct ContentPermitsTests {
    private func permits(_ count: Int) -> ContentPermits { ContentPermits(bytes: count * ContentPermits.permitLength) }

    private func until(_ condition: () -> Bool) async {
        while !condition(), !Task.isCancelled { await Task.yield() }
    }

    /// Enters in a task that ends when it has a permit; the permit is given back at once.
    private func enter(_ permits: ContentPermits, _ client: RequestClient) -> Task<Bool, Never> {
        Task { await permits.enter(client) != nil }
    }

    @Test func oneClientLeavesTheLastQuarterToOthers() async throws {
        let permits = permits(8)
        let (greedy, modest) = (RequestClient("greedy"), RequestClient("modest"))
        var held: [ContentPermits.Permit] = []
        for _ in 0..<6 { held.append(try #require(await permits.enter(greedy))) }
        let waiting = enter(permits, greedy)
        await until { permits.waitingCount == 1 }
        // Another client comes before the one that waits.
        #expect(await permits.enter(modest) != nil)
        #expect(permits.waitingCount == 1)
        held.removeLast()
        #expect(await waiting.value)
        held = []
        #expect(permits.count == 0 && permits.takePeak() == 7 && permits.takePeak() == 0)
    }

    @Test func thirtyResponsesTakeTurns() async throws {
        let permits = permits(1)
        let first = try #require(await permits.enter(.none))
        let waiting = (0..<30).map { enter(permits, RequestClient("client \($0)")) }
        await until { permits.waitingCount == 30 }
        withExtendedLifetime(consume first) {}
        for task in waiting { #expect(await task.value) }
        #expect(permits.count == 0 && permits.waitingCount == 0)
    }

    @Test func cancelledResponseWaitsNoLonger() async throws {
        let permits = permits(1)
        let held = try #require(await permits.enter(.none))
        let waiting = enter(permits, RequestClient("a"))
        await until { permits.waitingCount == 1 }
        waiting.cancel()
        #expect(await !waiting.value)
        #expect(permits.waitingCount == 0)
        withExtendedLifetime(held) {}
    }

    @Test func moreMemoryAdmitsAtOnce() async throws {
        let permits = permits(1)
        let held = try #require(await permits.enter(.none))
        let waiting = enter(permits, RequestClient("a"))
        await until { permits.waitingCount == 1 }
        permits.reconfigure(bytes: 2 * ContentPermits.permitLength)
        #expect(await waiting.value)
        withExtendedLifetime(held) {}
    }
}
