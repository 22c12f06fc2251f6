import Testing

@testable import HTTPCache

/// The memory for content of responses under way.
@Suite(.timeLimit(.minutes(20))) struct ContentPlacesTests {
    private func places(_ count: Int) -> ContentPlaces { ContentPlaces(bytes: count * ContentPlaces.placeLength) }

    private func until(_ condition: () -> Bool) async {
        while !condition() { await Task.yield() }
    }

    /// Enters in a task that ends when it has a place; the place is given back at once.
    private func enter(_ places: ContentPlaces, _ client: RequestClient) -> Task<Bool, Never> {
        Task { await places.enter(client) != nil }
    }

    @Test func oneClientLeavesTheLastQuarterToOthers() async throws {
        let places = places(8)
        let (greedy, modest) = (RequestClient("greedy"), RequestClient("modest"))
        var held: [ContentPlaces.Place] = []
        for _ in 0..<6 { held.append(try #require(await places.enter(greedy))) }
        let waiting = enter(places, greedy)
        await until { places.waitingCount == 1 }
        // Another client comes before the one that waits.
        #expect(await places.enter(modest) != nil)
        #expect(places.waitingCount == 1)
        held.removeLast()
        #expect(await waiting.value)
        held = []
        #expect(places.count == 0 && places.takePeak() == 7 && places.takePeak() == 0)
    }

    @Test func thirtyResponsesTakeTurns() async throws {
        let places = places(1)
        let first = try #require(await places.enter(.none))
        let waiting = (0..<30).map { enter(places, RequestClient("client \($0)")) }
        await until { places.waitingCount == 30 }
        withExtendedLifetime(consume first) {}
        for task in waiting { #expect(await task.value) }
        #expect(places.count == 0 && places.waitingCount == 0)
    }

    @Test func cancelledResponseWaitsNoLonger() async throws {
        let places = places(1)
        let held = try #require(await places.enter(.none))
        let waiting = enter(places, RequestClient("a"))
        await until { places.waitingCount == 1 }
        waiting.cancel()
        #expect(await !waiting.value)
        #expect(places.waitingCount == 0)
        withExtendedLifetime(held) {}
    }

    @Test func moreMemoryAdmitsAtOnce() async throws {
        let places = places(1)
        let held = try #require(await places.enter(.none))
        let waiting = enter(places, RequestClient("a"))
        await until { places.waitingCount == 1 }
        places.reconfigure(bytes: 2 * ContentPlaces.placeLength)
        #expect(await waiting.value)
        withExtendedLifetime(held) {}
    }
}
