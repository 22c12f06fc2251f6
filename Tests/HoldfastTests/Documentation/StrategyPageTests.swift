import Holdfast
import HoldfastTesting
import Testing

/// The page "Strategies".
@Suite(.timeLimit(.minutes(20))) struct StrategyPageTests {
    typealias GetFeed = GettingStartedTests.GetFeed

    private func show(_ feed: GettingStartedTests.Feed, isOld: Bool) {}

    @Test func strategiesOfThePageWork() async throws {
        try await withTestClient(.init(environment: .production)) { test in
            let client = test.client
            test.transport.script(
                GettingStartedTests.url,
                repeating: .ok(GettingStartedTests.content, fields: [.cacheControl: "max-age=60"])
            )
            let quick = try await client.fetch(GetFeed(userID: "harbour"), .staleWhileRevalidate)
            let recent = try await client.fetch(GetFeed(userID: "harbour"), .networkFirst(timeout: .seconds(2)))
            #expect(quick.source == .network && recent.source == .network)
            if let stored = try await client.stored(GetFeed(userID: "harbour")) {
                show(stored.value, isOld: stored.isStale)
            }
            for try await emission in client.startWith(GetFeed(userID: "harbour")) {
                show(emission.value, isOld: emission.isStale)
            }
            let emissions = client.call(GetFeed(userID: "harbour")).with {
                $0.networkFailure = .endingQuietly
                $0.unchangedValues = .suppressed
            }.request()
            #expect(await emissions.recorded().sources == [.store])
            let live = client.call(GetFeed(userID: "harbour")).with {
                $0.followsStore = true
                $0.networkFailure = .endingQuietly
            }.request()
            #expect(await live.recorded(upTo: 2).sources == [.store, .network])
            let current = client.call(GetFeed(userID: "harbour")).with {
                $0.followsStore = true
                $0.invalidatedValues = .fetched
            }.request()
            #expect(await current.recorded(upTo: 2).sources == [.store, .network])
            test.clock.advance(by: .seconds(1))
            let call = client.call(GetFeed(userID: "harbour")).with { $0.reuseWithin = .seconds(2) }
            let emission = try await call.fetch()
            #expect(emission.source == .store)
        }
    }
}
